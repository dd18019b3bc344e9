-- Audit entries are counted by the hour as well, so that a deep page of the trail skips an hour's and not a day's.
ALTER TABLE "audit_counters" DROP CONSTRAINT "audit_counters_grain_check",
  ADD CONSTRAINT "audit_counters_grain_check" CHECK ("grain" IN ('hour', 'day', 'total'));
