/** Texts of validation reports and of the "Try a file" page. */
export const validationTexts = {
  checks: {
    invalid_extension: 'Type',
    size_exceeded: 'Size',
    blank_file: 'Not blank',
    corrupt_file: 'Can be opened',
    virus_detected: 'No virus',
  },
  outcomes: { passed: 'passed', failed: 'failed', skipped: 'not asked', incomplete: 'not seen completely', waiting: 'waiting' },
  reasons: {
    invalid_extension: 'Wrong type',
    size_exceeded: 'Too large',
    blank_file: 'Blank',
    corrupt_file: 'Cannot be opened',
    virus_detected: 'Virus',
  },
  /** By the error's code: what it means, and what to do. */
  advice: {
    INVALID_EXTENSION: [
      'This context does not take that type of file.',
      'Choose a context that allows it, let an administrator add the extension, or save the file as one of the allowed types. Renaming does not help: the content must be what the name says.',
    ],
    SIZE_EXCEEDED: [
      'The file is larger than this context allows.',
      'Make it smaller (a lower resolution, fewer pages), split it, or ask an administrator to raise the limit.',
    ],
    BLANK_FILE: ['There is nothing in this file.', 'It is empty or holds nothing but blanks. Was it saved before it was sent?'],
    CORRUPT_FILE: [
      'The usual programs cannot open this file.',
      'It may have been cut off on its way, or be of another type than its name says. Open it on your machine, save it again, and upload that copy.',
    ],
    ENCRYPTED_FILE: ['This file opens with a password only.', 'Save a copy without a password and upload that.'],
    ACTIVE_CONTENT: [
      'This file holds a program: a macro, a script, or something that it would load.',
      'Save a copy without macros (for example as .docx instead of .docm), or export it as a plain PDF.',
    ],
    VIRUS_DETECTED: [
      'The scanner found a virus.',
      'Do not open this file. Remove it from your machine and have that machine checked; nothing of it was kept here.',
    ],
    SCAN_INCOMPLETE: [
      'The scanner could not look into all of this file.',
      'A password, or a container that cannot be unpacked, kept a part of it hidden. Upload it unpacked or without a password.',
    ],
    QUOTA_EXCEEDED: [
      'There is no room left.',
      'Delete files that are no longer needed, or ask an administrator to raise the quota.',
    ],
    SCANNER_UNAVAILABLE: ['The virus scanner is away.', 'Nothing is wrong with your file. Try again in a few minutes.'],
    OFFLINE: ['The connection was lost.', 'Nothing was kept. Try again once you are back on line.'],
  },
  rules: (extensions: readonly string[], mb: number) =>
    `Takes ${extensions.slice(0, 12).join(', ')}${extensions.length > 12 ? ' …' : ''} up to ${mb} MB.`,
  trial: {
    title: 'Try a file',
    about: 'See what would become of a file. Nothing is kept, and no quota is used.',
    drop: 'Drop one file here, or choose it',
    against: 'Against the rules of',
    accepted: 'This file would be kept.',
    rejected: 'This file would be refused.',
    judging: 'Being judged…',
    detected: 'Recognised as',
    emptyTitle: 'What would happen to your file?',
    empty: 'The five checks answer in a moment: type, size, blanks, whether it can be opened, and viruses. By a program:',
  },
} as const
