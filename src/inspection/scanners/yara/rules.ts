import { eicar } from '../eicar.js'

export interface RuleSource {
  origin: string
  text: string
}

/** The operator's rule files, and the date of the latest change. */
export interface OperatorRules {
  sources: RuleSource[]
  changedAt: Date | null
}

export const ownRulesDate = new Date('2026-11-22T00:00:00Z')

// Escape quotes and backslashes for use in a YARA string.
const eicarText = eicar.toString('latin1').replace(/[\\"]/g, '\\$&')

/** Rules that apply to the whole file. YARA searches for these few patterns at tens of GB/s. */
const anywhere = `
rule assay_eicar {
  meta: signature = "EICAR-Test-String"
  strings: $a = "${eicarText}"
  condition: $a
}`

export interface RulePart {
  /**
   * The part can match only if one of these strings occurs, in any letter case. A part without anchors is searched for only after
   * another part has matched.
   */
  anchors?: string[]
  strings: string
  condition?: string
  /** True if the part is searched for only at the start of a file. If it does not match there, the whole rule does not match. */
  atStart?: boolean
}

export interface ScriptRule {
  signature: string
  parts: RulePart[]
}

/** Rules for evasion techniques that never occur in legitimate files. They apply to text, and to both ends of other content. */
const scripts: ScriptRule[] = [
  {
    signature: 'PHP.Webshell',
    parts: [
      {
        anchors: ['<?php', '<?='],
        strings: '$php = "<?php" nocase $echo = "<?="',
      },
      {
        anchors: ['$_POST', '$_GET', '$_REQUEST', '$_COOKIE', 'base64_decode'],
        strings: String.raw`
    $input = /\b(eval|assert|system|exec|shell_exec|passthru|popen|proc_open)[ \t]{0,8}\([ \t]{0,8}@?((base64_decode|gzinflate|gzuncompress|str_rot13|stripslashes|trim|urldecode|rawurldecode)[ \t]{0,8}\([ \t]{0,8}){0,4}@?\$_(POST|GET|REQUEST|COOKIE)[ \t]{0,8}\[/ nocase
    $packed = /\beval[ \t]{0,8}\([ \t]{0,8}(gzinflate|gzuncompress|str_rot13)[ \t]{0,8}\([ \t]{0,8}base64_decode[ \t]{0,8}\([ \t]{0,8}['"][A-Za-z0-9+\/]{64}/ nocase
    $call = /\$_(POST|GET|REQUEST|COOKIE)\[[^\]]{1,40}\][ \t]{0,4}\([ \t]{0,4}\$_(POST|GET|REQUEST|COOKIE)\[/`,
      },
    ],
  },
  {
    signature: 'JSP.Webshell',
    parts: [
      { anchors: ['<%'], strings: '$page = "<%"' },
      {
        anchors: ['getRuntime'],
        strings: String.raw`
    $run = /getRuntime[ \t]{0,4}\([ \t]{0,4}\)[ \t]{0,4}\.[ \t]{0,4}exec[ \t]{0,4}\([ \t]{0,4}request[ \t]{0,4}\.[ \t]{0,4}getParameter/`,
      },
    ],
  },
  {
    signature: 'ASP.Webshell',
    parts: [
      {
        anchors: ['<%'],
        strings: String.raw`
    $run = /<%[^%]{0,200}\b(eval|execute)[ \t]{0,4}\(?[ \t]{0,4}request(\.(item|form|querystring))?[ \t]{0,4}[(\[]/ nocase`,
      },
    ],
  },
  {
    signature: 'PowerShell.Downloader',
    parts: [
      {
        anchors: ['powershell', 'net.webclient'],
        strings: String.raw`
    $hidden = /powershell(\.exe)?["']?[ \t]([^\r\n]{0,120}[ \t])?[-\/]w(indowstyle|in|i)?[ \t]{1,4}(hidden|1)[ \t][^\r\n]{0,120}[-\/]e(nc|ncodedcommand|c)?[ \t]{1,4}["']?[A-Za-z0-9+\/]{80}/ nocase
    $encoded = /[Pp]ower[Ss]hell(\.exe)?["']?[ \t]([^\r\n]{0,120}[ \t])?[-\/][Ee]([Nn][Cc]|[Nn]coded[Cc]ommand|[Cc])?[ \t]{1,4}["']?(SQBFAF|SQBuAHYAbwBrAGUALQ|aQBlAHgA|aQBuAHYAbwBrAGUALQ|JABjAGwAaQBlAG4AdA|KABuAGUAdwAtAG8AYgBqAGUAYwB0)[A-Za-z0-9+\/]{40}/
    $cradle = /\b(iex|invoke-expression)[ \t]{0,4}\(?[ \t]{0,4}\(?[ \t]{0,4}new-object[ \t]{1,4}(system\.)?net\.webclient[ \t]{0,4}\)[ \t]{0,4}\.[ \t]{0,4}download(string|data)[ \t]{0,4}\([ \t]{0,4}['"]https?:/ nocase`,
      },
    ],
  },
  {
    signature: 'Office.AutoMacroShell',
    parts: [
      {
        anchors: ['Sub Auto', 'Sub Document_Open(', 'Sub Workbook_Open('],
        strings: `
    $auto1 = "Sub AutoOpen(" nocase
    $auto2 = "Sub Auto_Open(" nocase
    $auto3 = "Sub AutoExec(" nocase
    $auto4 = "Sub AutoClose(" nocase
    $auto5 = "Sub Document_Open(" nocase
    $auto6 = "Sub Workbook_Open(" nocase`,
      },
      {
        // `Shell` is too short and too common to be an anchor.
        strings: String.raw`
    $shell = /\bShell[ \t]{0,4}\(?[ \t]{0,4}"[^"\r\n]{0,40}(powershell|cmd(\.exe)?[ \t]+\/[ck]|mshta|wscript|cscript|rundll32|regsvr32|certutil)/ nocase
    $object = /CreateObject[ \t]{0,4}\([ \t]{0,4}"(WScript\.Shell|Shell\.Application)"[ \t]{0,4}\)[ \t]{0,4}\.[ \t]{0,4}(Run|Exec|ShellExecute)/ nocase`,
      },
    ],
  },
  {
    signature: 'Script.Dropper',
    parts: [
      {
        anchors: ['WScript.Shell'],
        strings: String.raw`$shell = /ActiveXObject[ \t]{0,4}\([ \t]{0,4}['"]WScript\.Shell['"]/ nocase`,
      },
      {
        anchors: ['MSXML2.', 'Microsoft.XMLHTTP', 'WinHttp.WinHttpRequest'],
        strings: String.raw`
    $http = /ActiveXObject[ \t]{0,4}\([ \t]{0,4}['"](MSXML2\.(Server)?XMLHTTP|Microsoft\.XMLHTTP|WinHttp\.WinHttpRequest)/ nocase`,
      },
      {
        anchors: ['ADODB.Stream'],
        strings: String.raw`$stream = /ActiveXObject[ \t]{0,4}\([ \t]{0,4}['"]ADODB\.Stream['"]/ nocase`,
      },
    ],
  },
  {
    signature: 'SVG.ScriptRedirect',
    parts: [
      {
        anchors: ['<svg'],
        strings: '$svg = "<svg" nocase',
        condition: '$svg in (0..4096)',
        atStart: true,
      },
      {
        anchors: ['<script', '<foreignObject'],
        strings: String.raw`
    $script = /<script[^>]{0,200}>[^<]{0,4000}\b(atob|eval|unescape|fromCharCode)[ \t]{0,4}\([^<]{0,4000}\b(window|document|top|self)\.location[^<]{0,40}=/ nocase
    $html = /<foreignObject[^>]{0,200}>[\x01-\xff]{0,2000}<(iframe|embed|object)[^>]{0,400}data:text\/html;base64,/ nocase`,
      },
    ],
  },
]

export const ownRules = { anywhere, scripts }

const document = 'pdf|docx?|xlsx?|pptx?|rtf|odt|txt|csv|jpe?g|png|gif|bmp|mp3|mp4|avi|zip'
const program = 'exe|scr|com|pif|bat|cmd|vbs|vbe|jse|wsf|hta|lnk|cpl|msi'
const disguised = new RegExp(`\\.(${document})[\\s_]*\\.(${program})$`, 'i')
// A right-to-left override displays `gnp.exe` as `exe.png`.
const reversed = new RegExp(`[\u202e\u2066\u2067\u202b].*\\.(${program})$`, 'i')

/** Returns a signature name if an archive member's name disguises a program as a document. */
export function findDeceptiveName(name: string): string | undefined {
  if (disguised.test(name)) return 'Archive.DoubleExtension'
  return reversed.test(name) ? 'Archive.ReversedName' : undefined
}

/** Text from which the version of the built-in rules is computed. */
export const ownRulesText = anywhere + JSON.stringify(scripts) + disguised.source + reversed.source
