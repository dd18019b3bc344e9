-- Failed sign-ins, refused scopes and credentials, and limits reached have a type of their own. Not validated: it only allows more.
ALTER TABLE "audit_logs" DROP CONSTRAINT "audit_logs_audit_type_check",
  ADD CONSTRAINT "audit_logs_audit_type_check" CHECK ("audit_type" IN ('api_key', 'file', 'context', 'tenant', 'security')) NOT VALID;
