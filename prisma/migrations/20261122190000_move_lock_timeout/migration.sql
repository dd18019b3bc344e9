-- A move waits a second for its tenant's lock also behind a pooler, where no connection of ours can say so.
ALTER FUNCTION ledger_move_1(text, jsonb) SET lock_timeout = '1s';
