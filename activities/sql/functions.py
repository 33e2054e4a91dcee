"""The functions a statement may call, by dialect: everything not named here is refused.

Above: `trees` asks for each call it finds. Below: nothing. A function is here when it neither writes, waits, locks,
reads outside the tables, nor runs text as SQL; `SLEEP`, `GET_LOCK`, `LOAD_FILE`, `NEXTVAL`, `pg_read_file`,
`query_to_xml`, `ts_stat`, `load_extension` and their kin are absent on purpose.
"""

from __future__ import annotations

from activities.sql.lexing import Dialect

_COMMON = """
abs acos asin atan atan2 avg ceil ceiling coalesce concat concat_ws cos cot count cume_dist degrees dense_rank
exp first_value floor greatest lag last_value lead least left length ln log log10 log2 lower lpad ltrim max min
mod nth_value ntile nullif percent_rank pi pow power radians rand random rank repeat replace reverse right round
row_number rpad rtrim sign sin sqrt substr substring sum tan trim upper version
"""

_MYSQL = """
adddate addtime aes_decrypt any_value ascii bin bin_to_uuid bit_and bit_count bit_length bit_or bit_xor cast
char char_length character_length charset coercibility collation compress connection_id conv convert convert_tz
crc32 curdate current_date current_role current_time current_timestamp current_user curtime database date
date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear elt export_set extract
extractvalue field find_in_set format format_bytes format_pico_time found_rows from_base64 from_days
from_unixtime get_format group_concat grouping hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa
insert instr interval is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_uuid isnull json_array json_array_append
json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed
json_equals json_exists json_extract json_insert json_length json_loose json_merge json_merge_patch
json_merge_preserve json_normalize json_object json_objectagg json_pretty json_query json_quote
json_remove json_replace json_search json_set json_storage_size json_table json_type json_unquote json_valid
json_value last_day lcase lengthb localtime localtimestamp locate make_set makedate maketime match md5 median
microsecond mid minute month monthname name_const natural_sort_key now nvl nvl2 oct octet_length ord
percentile_cont percentile_disc period_add period_diff point position quarter quote regexp_instr regexp_like
regexp_replace regexp_substr row row_count schema sec_to_time second session_user sformat sha sha1 sha2 soundex
space st_area st_asgeojson st_astext st_aswkt st_contains st_distance st_distance_sphere st_geomfromtext
st_intersects st_isvalid st_length st_srid st_within st_x st_y std stddev stddev_pop stddev_samp str_to_date
strcmp subdate substring_index subtime sysdate system_user time time_format time_to_sec timediff timestamp
timestampadd timestampdiff to_base64 to_char to_days to_seconds trunc truncate ucase uncompress
uncompressed_length unhex unix_timestamp updatexml user utc_date utc_time utc_timestamp uuid uuid_to_bin values
var_pop var_samp variance week weekday weekofyear weight_string year yearweek
"""

_POSTGRES = """
age all any array array_agg array_append array_cat array_dims array_fill array_length array_lower array_ndims
array_position array_positions array_prepend array_remove array_replace array_to_json array_to_string
array_upper ascii bit_and bit_length bit_or bit_xor bool_and bool_or broadcast btrim cardinality cast cbrt
char_length character_length chr clock_timestamp col_description corr covar_pop covar_samp current_catalog
current_database current_date current_query current_role current_schema current_schemas current_setting
current_time current_timestamp current_user date_bin date_part date_trunc daterange decode div encode enum_first
enum_last enum_range every exists extract family format format_type gcd gen_random_uuid generate_series
generate_subscripts get_bit get_byte grouping has_any_column_privilege has_column_privilege
has_database_privilege has_function_privilege has_schema_privilege has_sequence_privilege has_table_privilege
hashtext host hostmask inet_merge inet_same_family initcap int4range int8range isempty isfinite json_agg
json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each
json_each_text json_extract_path json_extract_path_text json_object json_object_agg json_object_keys
json_populate_record json_populate_recordset json_strip_nulls json_to_record json_to_recordset json_typeof
jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object
jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg
jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array
jsonb_path_query_first jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_strip_nulls
jsonb_to_record jsonb_to_recordset jsonb_typeof justify_days justify_hours justify_interval lcm localtime
localtimestamp lower_inc lower_inf make_date make_interval make_time make_timestamp make_timestamptz masklen md5
min_scale mode multirange netmask network now num_nonnulls num_nulls numnode numrange obj_description
octet_length overlay parse_ident percentile_cont percentile_disc pg_backend_pid pg_blocking_pids pg_column_size
pg_conf_load_time pg_current_wal_lsn pg_database_size pg_encoding_to_char pg_function_is_visible
pg_get_constraintdef pg_get_expr pg_get_function_arguments pg_get_function_identity_arguments
pg_get_function_result pg_get_functiondef pg_get_indexdef pg_get_partkeydef pg_get_ruledef
pg_get_serial_sequence pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_index_column_has_property
pg_indexes_size pg_is_in_recovery pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp
pg_postmaster_start_time pg_relation_size pg_size_bytes pg_size_pretty pg_table_is_visible pg_table_size
pg_tablespace_size pg_total_relation_size pg_typeof pg_wal_lsn_diff phraseto_tsquery plainto_tsquery position
querytree quote_ident quote_literal quote_nullable range_agg range_intersect_agg range_merge regexp_count
regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table
regexp_substr regr_count regr_intercept regr_r2 regr_slope row row_to_json scale session_user sha224 sha256
sha384 sha512 similarity split_part starts_with statement_timestamp stddev stddev_pop stddev_samp string_agg
string_to_array string_to_table strip strpos timeofday timezone to_ascii to_char to_date to_hex to_json to_jsonb
to_number to_timestamp to_tsquery to_tsvector transaction_timestamp translate trim_array trim_scale trunc
ts_headline ts_rank ts_rank_cd tsrange tstzrange txid_current_if_assigned unistr unnest upper_inc upper_inf user
values var_pop var_samp variance websearch_to_tsquery width_bucket word_similarity
"""

_SQLITE = """
bm25 cast changes char current_date current_time current_timestamp date datetime format glob group_concat hex
highlight ifnull iif instr json json_array json_array_length json_each json_error_position json_extract
json_group_array json_group_object json_insert json_object json_patch json_quote json_remove json_replace
json_set json_tree json_type json_valid julianday last_insert_rowid like likelihood likely match nullif
pragma_foreign_key_list pragma_index_info pragma_index_list pragma_index_xinfo pragma_table_info
pragma_table_list pragma_table_xinfo printf quote randomblob row snippet soundex sqlite_compileoption_get
sqlite_compileoption_used sqlite_source_id sqlite_version strftime string_agg time timediff total total_changes
trunc typeof unhex unicode unixepoch unlikely values zeroblob
"""

ALLOWED: dict[Dialect, frozenset[str]] = {
    "mysql": frozenset((_COMMON + _MYSQL).split()),
    "postgres": frozenset((_COMMON + _POSTGRES).split()),
    "sqlite": frozenset((_COMMON + _SQLITE).split()),
}
"""Names in lower case."""

CRASHING: dict[str, str] = {
    "json_keys": "JSON_KEYS is refused, over JSON cut 32 levels deep it ends a MariaDB server (seen on 10.11.19): "
    "read the value itself, or keys by name with JSON_EXTRACT",
    "json_overlaps": "JSON_OVERLAPS is refused, over JSON 32 levels deep it ends a MariaDB server (seen on 10.11.19): "
    "use JSON_CONTAINS for each value, joined by OR",
}
"""Functions that would only compute, and why they may not."""

CREDENTIAL_TABLES: dict[Dialect, frozenset[tuple[str, str]]] = {
    "mysql": frozenset(
        ("mysql", name)
        for name in (
            "user",
            "global_priv",
            "db",
            "servers",
            "proxies_priv",
            "password_history",
            "slave_master_info",
            "slave_relay_log_info",
            "default_roles",
            "roles_mapping",
        )
    ),
    "postgres": frozenset(
        ("pg_catalog", name)
        for name in (
            "pg_authid",
            "pg_shadow",
            "pg_user_mapping",
            "pg_user_mappings",
            "pg_hba_file_rules",
            "pg_ident_file_mappings",
            "pg_subscription",
            "pg_foreign_server",
            "pg_largeobject",
            "pg_statistic",
        )
    ),
    "sqlite": frozenset(),
}
"""Schema and name of tables that hold or lead to credentials, in lower case."""
