/** Browsers that contain the names of others in their user agents come first. */
const browsers: [name: string, pattern: RegExp][] = [
  ['Edge', /\bEdg(?:A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Headless)?(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+)[\d.]* (?:Mobile\/\w+ )?Safari\//],
]

const systems: [name: string, pattern: RegExp][] = [
  ['iOS', /\b(?:iPhone|iPad|iPod)\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows NT\b/],
  ['macOS', /\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
]

/** Describes a `User-Agent` header, such as "Firefox 130 on Windows". Programs are described by their first product, such as "curl/8.5.0". */
export function describeUserAgent(userAgent: string): string {
  const browser = browsers.flatMap(([name, pattern]) => {
    const version = pattern.exec(userAgent)?.[1]
    return version ? [`${name} ${version}`] : []
  })[0]
  const system = systems.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser) return system ? `${browser} on ${system}` : browser
  return userAgent.split(' ')[0] ?? ''
}
