export const validationTexts = {
  checks: {
    invalid_extension: 'File type',
    size_exceeded: 'File size',
    blank_file: 'Blank file check',
    corrupt_file: 'File integrity',
    virus_detected: 'Virus scan',
  },
  /** Name of the virus check if the service scans only with its built-in rules. */
  basicMalwareRules: 'Basic malware rules',
  outcomes: { passed: 'passed', failed: 'failed', skipped: 'skipped', incomplete: 'incomplete', waiting: 'pending' },
  reasons: {
    invalid_extension: 'Invalid file type',
    size_exceeded: 'File too large',
    blank_file: 'Blank file',
    corrupt_file: 'Corrupt file',
    virus_detected: 'Virus',
  },
  advice: {
    INVALID_EXTENSION: [
      'This context does not accept this type of file.',
      'Choose another context, convert the file to an allowed type, or ask an administrator to allow the extension. Renaming the file does not help, because its content must match its extension.',
    ],
    SIZE_EXCEEDED: [
      'The file is larger than this context allows.',
      'Compress or split the file, or ask an administrator to raise the limit.',
    ],
    BLANK_FILE: ['The file is empty or contains only whitespace.', 'Make sure that you saved the file before uploading it.'],
    CORRUPT_FILE: [
      'Common programs cannot open this file.',
      'The file may be truncated or damaged, or its content may not match its extension. Open it on your computer, save it again, and upload the new copy.',
    ],
    ENCRYPTED_FILE: ['This file is password-protected.', 'Save a copy without a password and upload that copy.'],
    ACTIVE_CONTENT: [
      'This file contains active content, such as a macro or a script.',
      'Save a copy without macros (for example as .docx instead of .docm), or export the file as a plain PDF.',
    ],
    VIRUS_DETECTED: [
      'The scanner found a virus.',
      'Do not open this file. Delete it and scan your computer for viruses. The service did not store the file.',
    ],
    SCAN_INCOMPLETE: [
      'The scanner could not scan the whole file.',
      'Part of the file is password-protected or cannot be unpacked. Extract the content, and upload it without a password.',
    ],
    QUOTA_EXCEEDED: [
      'Storage quota exceeded.',
      'Delete files that you no longer need, or ask an administrator to raise the quota.',
    ],
    SCANNER_UNAVAILABLE: ['The virus scanner is unavailable.', 'The file was not stored. Try again in a few minutes.'],
    OFFLINE: ['The connection was lost.', 'The file was not stored. Try again when you are online.'],
  },
  acceptedFiles: (extensions: readonly string[], mb: number) =>
    `Accepts ${extensions.slice(0, 12).join(', ')}${extensions.length > 12 ? ' …' : ''} up to ${mb} MB.`,
  dryRun: {
    title: 'Validate file',
    about: 'Check whether a context would accept a file. The file is not stored and does not count toward the quota.',
    drop: 'Drop a file anywhere, or choose a file',
    dropInto: (context: string) => `Drop a file to validate it against ${context}`,
    context: 'Context',
    accepted: 'This file would be accepted.',
    rejected: 'This file would be rejected.',
    validating: 'Validating…',
    detectedType: 'Detected type:',
    emptyTitle: 'No file validated yet',
    empty: 'Choose a file to see the result of all five checks. To validate files with the API:',
  },
} as const
