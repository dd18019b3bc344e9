/** Texts of the component. `{name}` and other words in braces are replaced by values. */
export const defaultTexts = {
  loading: 'Loading the rules of this upload link…',
  prompt: 'Drop files here, paste them, or choose them.',
  choose: 'Choose files',
  takePhoto: 'Take a photo',
  rules: 'Allowed types: {extensions}. Maximum size of a file: {size}.',
  remaining: 'Files left: {count}. The link expires at {time}.',
  complete: 'All files of this link were uploaded. You can close this page.',
  unfinished: 'Unfinished upload: {name}. Choose the same file again to continue.',
  tryAgain: 'Try again',
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel',
  remove: 'Remove',
  actionFor: '{action}: {name}',
  progressOf: 'Progress of {name}',
  queued: 'Waiting for other uploads.',
  uploading: '{percent} uploaded, {rate} per second, {time} left',
  starting: '{percent} uploaded',
  paused: 'Paused at {percent}.',
  checking: 'The service is checking the file.',
  accepted: 'Uploaded.',
  rejected: 'Not uploaded.',
  failed: 'Interrupted at {percent}.',
  announceStart: 'Uploading {name}.',
  announceAccepted: '{name} was uploaded.',
  announceRejected: '{name} was not uploaded. {reason}',
  announceCanceled: '{name} was canceled.',
  passed: 'Passed',
  failedCheck: 'Failed',
  pending: 'Pending',
  typeAllowed: 'File type: .{extension} is allowed.',
  typeRejected: 'File type: .{extension} is not allowed. Choose a file of type {extensions}.',
  typeMissing: 'File type: the name has no extension. Choose a file of type {extensions}.',
  sizeAllowed: 'File size: {size} of at most {max}.',
  sizeRejected: 'File size: {size} exceeds the maximum of {max}. Choose a smaller file.',
  sizeEmpty: 'File size: the file is empty. Choose a file with content.',
  countRejected: 'Number of files: the link accepts {count} more. Remove another file, or ask for a new link.',
  contentPending: 'Content: checked after the upload.',
  contentAccepted: 'Content: checked and accepted.',
  folder: 'Folders cannot be uploaded. Choose the files in the folder.',
  invalid_extension: 'File type: the type is not allowed, or the content is of another type. Choose another file.',
  size_exceeded: 'File size: the file is too large. Choose a smaller file.',
  blank_file: 'Content: the file has no content. Choose another file.',
  corrupt_file:
    'Content: the file is damaged or is not the expected file. Open it to check it, save it again and upload the copy.',
  virus_detected: 'Content: the scanner found a virus. Do not open the file. Scan your device.',
  scan_incomplete: 'Content: the scanner cannot read the whole file. Upload it without a password and without nested archives.',
  encrypted_file: 'Content: the file is encrypted. Remove its password and upload it again.',
  active_content: 'Content: the file contains macros, scripts or embedded programs. Save it without them and upload it again.',
  quota_exceeded: 'The storage of the receiver is full. Tell the person who sent you the link.',
  rate_limited: 'Too many requests. Wait a minute, then try again.',
  not_found: 'This upload link is no longer valid. Ask the person who sent it for a new link.',
  forbidden: 'This upload link cannot be used on this website. Tell the person who sent you the link.',
  network_error: 'The connection was lost. The upload continues when you are online again.',
  unreadable: 'The file cannot be read. It may have been moved or changed. Choose it again.',
  unavailable: 'The service is temporarily unavailable. Try again in a minute.',
}

export type TextName = keyof typeof defaultTexts
export type Texts = Record<TextName, string>

/** Replaces the words in braces by values. Unknown words stay. */
export const fill = (text: string, values: Record<string, string | number> = {}): string =>
  text.replace(/\{(\w+)\}/g, (word, name: string) => String(values[name] ?? word))

const rejectionCodes: readonly string[] = [
  'invalid_extension',
  'size_exceeded',
  'blank_file',
  'corrupt_file',
  'virus_detected',
  'scan_incomplete',
  'encrypted_file',
  'active_content',
] satisfies TextName[]

/** True if the service rejected the file itself, so that a repeated upload cannot succeed. */
export const isRejection = (code: string): boolean => rejectionCodes.includes(code)

/** Text for an error code, or the message of the service for codes without a text. */
export function toErrorText(texts: Texts, { code, message }: { code: string; message: string }): string {
  if (code.endsWith('_unavailable') || code === 'overloaded' || code === 'internal_server_error') return texts.unavailable
  return Object.hasOwn(texts, code) ? texts[code as TextName] : message
}
