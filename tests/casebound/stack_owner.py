"""A program that opens the embedded stack, says how to reach it, and closes it when its stdin ends.

Run by the tests of the stack, so that they can kill it. Its state directory is CASEBOUND_STATE_DIR.
"""

from __future__ import annotations

import asyncio
import json
import sys

from casebound.stack import open_stack


async def main() -> None:
    async with open_stack(say=lambda text: print(json.dumps({"said": text}), flush=True)) as stack:
        facts = {
            "temporal_address": stack.temporal_address,
            "ui_url": stack.ui_url,
            "redis_url": stack.redis_url,
            "joined": stack.joined,
        }
        print(json.dumps(facts), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
