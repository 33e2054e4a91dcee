"""Who owns a call when workers die, freeze, stop or lose their store: real processes, real servers."""
