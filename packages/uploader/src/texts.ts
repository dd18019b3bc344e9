/** English texts of the component. Words in braces, such as `{name}`, are placeholders. */
export const defaultTexts = {
  loading: 'Loading the upload link…',
  prompt: 'Drop or paste files here, or choose them from your device.',
  choose: 'Choose files',
  takePhoto: 'Take a photo',
  rules: 'Allowed types: {extensions}. Maximum file size: {size}.',
  remaining: 'Remaining files: {count}. The link expires on {time}.',
  complete: 'All files were uploaded. You can close this page.',
  unfinished: 'Unfinished upload: {name}. Choose the same file again to resume the upload.',
  tryAgain: 'Try again',
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel',
  remove: 'Remove',
  actionFor: '{action}: {name}',
  progressOf: 'Upload progress for {name}',
  queued: 'Waiting for other uploads to finish.',
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
  announceCanceled: 'The upload of {name} was canceled.',
  passed: 'Passed',
  failedCheck: 'Failed',
  pending: 'Pending',
  typeAllowed: 'File type: .{extension} is allowed.',
  typeRejected: 'File type: .{extension} is not allowed. Choose a file with one of these types: {extensions}.',
  typeMissing: 'File type: the file name has no extension. Choose a file with one of these types: {extensions}.',
  sizeAllowed: 'File size: {size} (maximum {max}).',
  sizeRejected: 'File size: {size} exceeds the maximum of {max}. Choose a smaller file.',
  sizeEmpty: 'File size: the file is empty. Choose a different file.',
  countRejected: 'Number of files: this link accepts no more files. Remove another file, or ask for a new link.',
  contentPending: 'Content: the service will check the file after the upload.',
  contentAccepted: 'Content: checked and accepted.',
  folder: 'Folders cannot be uploaded. Choose the files in the folder.',
  invalid_extension: 'File type: the type is not allowed, or the content does not match the extension. Choose another file.',
  size_exceeded: 'File size: the file is too large. Choose a smaller file.',
  blank_file: 'Content: the file is blank. Choose another file.',
  corrupt_file:
    'Content: the file is damaged, or its content does not match its extension. Open and check the file, save it again, and upload the new copy.',
  virus_detected: 'Content: the scanner found a virus. Do not open the file. Scan your device for viruses.',
  scan_incomplete: 'Content: the scanner cannot read the whole file. Upload the file without a password or nested archives.',
  encrypted_file: 'Content: the file is encrypted. Remove the password and upload the file again.',
  active_content:
    'Content: the file contains macros, scripts or embedded programs. Save a copy without them and upload the copy.',
  quota_exceeded: "The recipient's storage is full. Contact the person who sent you the link.",
  rate_limited: 'Too many requests. Wait a minute, then try again.',
  not_found: 'This upload link is no longer valid. Ask the person who sent it for a new link.',
  forbidden: 'This upload link cannot be used on this website. Contact the person who sent you the link.',
  network_error: 'The connection was lost. The upload resumes when you are online again.',
  unreadable: 'The browser cannot read the file. If the file was moved or changed, choose it again.',
  unavailable: 'The service is temporarily unavailable. Try again in a minute.',
}

export type TextName = keyof typeof defaultTexts
export type Texts = Record<TextName, string>

/** Replaces the placeholders in braces with values, but leaves unknown placeholders unchanged. */
export const fillPlaceholders = (text: string, values: Record<string, string | number> = {}): string =>
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

/** Checks whether the service rejected the file itself, in which case a retry cannot succeed. */
export const isFileRejection = (code: string): boolean => rejectionCodes.includes(code)

/** Returns the text for an error code, or the service's message if the code has no text. */
export function toErrorText(texts: Texts, { code, message }: { code: string; message: string }): string {
  if (code.endsWith('_unavailable') || code === 'overloaded' || code === 'internal_server_error') return texts.unavailable
  return Object.hasOwn(texts, code) ? texts[code as TextName] : message
}
