-- assay: outside a transaction
-- One statement that commits after every 10,000 files; where it was interrupted, running it again goes on.
DO $$
DECLARE
  after TEXT COLLATE "C" := '';
  until TEXT COLLATE "C";
BEGIN
  LOOP
    SELECT max(file_id) INTO until FROM (SELECT file_id FROM files WHERE file_id > after ORDER BY file_id LIMIT 10000) batch;
    EXIT WHEN until IS NULL;
    INSERT INTO validation_reports SELECT tenant_id, file_id, created_at, validation FROM files WHERE file_id > after AND file_id <= until
    ON CONFLICT DO NOTHING;
    COMMIT;
    after := until;
  END LOOP;
END $$
