/** A value of a request, and where it came from: text (a path, a query string, a form field), or JSON. */
export interface RawValue {
  value: unknown
  from: 'text' | 'json'
}
