import { toCamelCase } from '../../platform/case-conversion.js'
import type { Queries } from '../../platform/db/queries.js'
import { toPrintableText } from '../../platform/errors/errors.js'
import { megabyte } from '../../platform/units.js'
import type { FileContext } from './context.types.js'
import { type ContextPreview, type ContextRules, type FileAtOdds, FilesByReason } from './context-rules.types.js'

/** Bit flags of `files.traits`. Each flag stands for a problem or a missing result in the latest validation report of a file. */
const trait = { blank: 1, damage: 2, policy: 4, encrypted: 8, active: 16, unscanned: 32, incomplete: 64, infected: 256 }

const maxSamples = 20

interface Row {
  counts: Record<string, number>
  sample: { file_id: string; original_filename: string; size_bytes: number; verdict: FileAtOdds['reason'] }[] | null
}

/** Evaluates `rules` against the stored validation reports of a context's files. The files are not read again. */
export async function previewRules(database: Queries, context: FileContext, rules: ContextRules): Promise<ContextPreview> {
  const { policy } = rules
  const toBitmask = (...conditions: [boolean, number][]) => conditions.reduce((sum, [isOn, bit]) => (isOn ? sum | bit : sum), 0)
  const { rows } = await database.query<Row>(statement, [
    context.tenantId,
    context.contextId,
    rules.allowedExtensions,
    rules.maxFileSizeMb * megabyte,
    rules.rejectBlankFiles,
    toBitmask([policy.rejectEncryptedFiles, trait.encrypted]),
    toBitmask([policy.rejectActiveContent, trait.active]),
    toBitmask([rules.scanForViruses, trait.infected]),
    toBitmask([rules.scanForViruses && !policy.acceptUnscanned, trait.incomplete]),
    toBitmask(
      [rules.rejectBlankFiles, trait.blank],
      [rules.rejectCorruptFiles, trait.damage],
      [policy.rejectEncryptedFiles || policy.rejectActiveContent, trait.policy],
      [rules.scanForViruses, trait.unscanned],
    ),
  ])
  const { counts, sample } = rows[0]!
  const { kept = 0, undecided = 0, ...rejected } = counts
  const wouldBeRejected = Object.values(rejected).reduce((sum, files) => sum + files, 0)
  const byReason = Object.entries(rejected).map(([verdict, files]) => [toCamelCase(verdict), files])
  return {
    files: kept + undecided + wouldBeRejected,
    wouldBeRejected,
    undecided,
    byReason: Object.assign(new FilesByReason(), Object.fromEntries(byReason)),
    sample: (sample ?? []).map((file) => ({
      fileId: file.file_id,
      originalFilename: file.original_filename,
      reason: file.verdict,
      message: toRejectionMessage(file, rules),
    })),
  }
}

function toRejectionMessage(
  { verdict, original_filename, size_bytes }: NonNullable<Row['sample']>[number],
  rules: ContextRules,
): string {
  switch (verdict) {
    case 'invalid_extension':
      return `The extension of '${toPrintableText(original_filename)}' is not allowed. Allowed extensions: ${rules.allowedExtensions.join(', ')}.`
    case 'size_exceeded':
      return `The file is ${size_bytes} bytes. The maximum is ${rules.maxFileSizeMb} MB (${rules.maxFileSizeMb * megabyte} bytes).`
    case 'blank_file':
      return 'The file is empty.'
    case 'encrypted_file':
      return 'The file is encrypted and requires a password.'
    case 'active_content':
      return 'The file contains active content, such as macros, scripts or attachments.'
    case 'virus_detected':
      return 'A later scan found a virus in the file.'
    default:
      return 'The scanner could not scan the whole file.'
  }
}

// SQL for the file extension, determined as in the upload checks: the text after the last dot, unless that dot is the first
// character of the name.
const extension = `CASE WHEN strpos(substr(f.original_filename, 2), '.') = 0 THEN '' ELSE lower(split_part(f.original_filename, '.', -1)) END`

// The first pass counts the files by verdict. The second pass reads the newest rejected files, and stops after 20 or, if there
// are fewer, after the last one.
const statement = `
WITH judged AS NOT MATERIALIZED (
  SELECT file_id, original_filename, size_bytes, CASE
    WHEN extension <> ALL ($3::text[]) THEN 'invalid_extension'
    WHEN size_bytes > $4 THEN 'size_exceeded'
    WHEN $5 AND size_bytes = 0 THEN 'blank_file'
    WHEN traits & $6 <> 0 THEN 'encrypted_file'
    WHEN traits & $7 <> 0 THEN 'active_content'
    WHEN traits & $8 <> 0 THEN 'virus_detected'
    WHEN traits & $9 <> 0 THEN 'scan_incomplete'
    WHEN traits & $10 <> 0 AND (size_bytes > 0 OR traits & $10 <> ${trait.blank}) THEN 'undecided'
    ELSE 'kept' END AS verdict
  FROM (SELECT f.file_id, f.original_filename, f.size_bytes, ${extension} AS extension, coalesce(f.traits, (
      SELECT report_traits(r.report) FROM validation_reports r WHERE r.tenant_id = $1 AND r.file_id = f.file_id ORDER BY r.validated_at DESC LIMIT 1),
      ${trait.blank | trait.damage | trait.policy | trait.unscanned})::int AS traits
    FROM files f WHERE f.tenant_id = $1 AND f.context_id = $2) f),
counts AS MATERIALIZED (SELECT verdict, count(*) AS files FROM judged GROUP BY verdict)
SELECT coalesce((SELECT jsonb_object_agg(verdict, files) FROM counts), '{}') AS counts,
  (SELECT jsonb_agg(s) FROM (SELECT file_id, original_filename, size_bytes, verdict FROM judged WHERE verdict NOT IN ('undecided', 'kept')
    ORDER BY file_id DESC LIMIT (SELECT least(${maxSamples}, coalesce(sum(files), 0)) FROM counts WHERE verdict NOT IN ('undecided', 'kept'))) s) AS sample`
