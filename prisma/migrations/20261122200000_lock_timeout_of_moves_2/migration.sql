-- The second for a tenant's lock belongs to what waits for it by now; ledger_move_2 has a limit of its own, which ledger_move_1 keeps to.
ALTER FUNCTION ledger_move_1(text, jsonb) RESET lock_timeout;
ALTER FUNCTION ledger_move_or_wait_2(text, jsonb, int, int) SET lock_timeout = '1s';
ALTER FUNCTION ledger_moved_2(text, bigint, int, int) SET lock_timeout = '1s';
