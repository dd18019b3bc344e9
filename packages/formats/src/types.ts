/**
 * Extensions and content type of each type. A type is named after its usual extension. For example, a file detected as `docx`
 * may have the extension `docx` or `zip`.
 */
export interface TypeRow {
  mime: string
  extensions: string[]
}

const row = (mime: string, extensions: string): TypeRow => ({ mime, extensions: extensions.split(' ') })

const ooxml = 'application/vnd.openxmlformats-officedocument'
const odf = 'application/vnd.oasis.opendocument'

// Extensions of formats that are stored in a zip, a compound file or a TIFF, and cannot be told apart from it.
const zipBased =
  'zip zipx key cbz kmz sketch pages numbers nupkg whl vsix vsdx idml 3mf usdz mscz xmind fla oxt xpi crx ipa aab mmap'
export const rawPhotos = 'dng nef nrw arw sr2 cr2 pef srw 3fr iiq dcr kdc erf mef mos rwl orf rw2 gpr'

/** Binary types, and text types with a clear signature (PDF, RTF, PostScript). */
export const types: Record<string, TypeRow> = {
  pdf: row('application/pdf', 'pdf ai'),
  rtf: row('application/rtf', 'rtf doc'),
  ps: row('application/postscript', 'ps eps ai prn'),
  eps: row('application/postscript', 'eps ps epsf epsi ai'),

  jpg: row('image/jpeg', 'jpg jpeg jpe jfif jif jfi pjpeg pjp thm mpo'),
  png: row('image/png', 'png apng'),
  gif: row('image/gif', 'gif'),
  webp: row('image/webp', 'webp'),
  tif: row('image/tiff', `tif tiff geotiff ${rawPhotos}`),
  'raw-photo': row('image/tiff', `tif tiff ${rawPhotos}`),
  bmp: row('image/bmp', 'bmp dib rle'),
  heic: row('image/heic', 'heic heif heics heifs hif'),
  avif: row('image/avif', 'avif avifs heif'),
  ico: row('image/x-icon', 'ico cur'),
  psd: row('image/vnd.adobe.photoshop', 'psd psb'),
  jp2: row('image/jp2', 'jp2 jpg2 j2k j2c jpf jpx jpm mj2 mjp2 jpc'),
  jxl: row('image/jxl', 'jxl'),

  // Java accepts any zip as a library, with or without a manifest and classes.
  zip: row('application/zip', `${zipBased} jar war ear aar`),
  docx: row(`${ooxml}.wordprocessingml.document`, 'docx docm dotx dotm zip'),
  docm: row('application/vnd.ms-word.document.macroEnabled.12', 'docm dotm zip'),
  xlsx: row(`${ooxml}.spreadsheetml.sheet`, 'xlsx xlsm xltx xltm xlam zip'),
  xlsm: row('application/vnd.ms-excel.sheet.macroEnabled.12', 'xlsm xltm xlam zip'),
  xlsb: row('application/vnd.ms-excel.sheet.binary.macroEnabled.12', 'xlsb zip'),
  pptx: row(`${ooxml}.presentationml.presentation`, 'pptx pptm potx potm ppsx ppsm ppam sldx sldm zip'),
  pptm: row('application/vnd.ms-powerpoint.presentation.macroEnabled.12', 'pptm potm ppsm ppam sldm zip'),
  vsdx: row('application/vnd.ms-visio.drawing', 'vsdx vsdm vstx vstm vssx vssm zip'),
  ooxml: row(
    'application/zip',
    `docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm thmx vsdx vsdm xps oxps appx msix ${zipBased}`,
  ),
  odt: row(`${odf}.text`, 'odt ott odm zip'),
  ods: row(`${odf}.spreadsheet`, 'ods ots zip'),
  odp: row(`${odf}.presentation`, 'odp otp zip'),
  odg: row(`${odf}.graphics`, 'odg otg zip'),
  odf: row('application/zip', 'odt ott odm ods ots odp otp odg otg odf odb odc odi zip'),
  epub: row('application/epub+zip', 'epub zip'),
  jar: row('application/java-archive', 'jar war ear aar zip xpi'),
  apk: row('application/vnd.android.package-archive', 'apk jar aar aab zip'),
  'zip-damaged': row(
    'application/zip',
    `docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm vsdm odt ott odm ods ots odp otp odg otg epub jar war ear aar apk xps oxps ${zipBased}`,
  ),
  gz: row('application/gzip', 'gz gzip tgz taz tar.gz svgz emz wmz vgz dia adz cpgz'),
  bz2: row('application/x-bzip2', 'bz2 bz tbz tbz2'),
  xz: row('application/x-xz', 'xz txz'),
  zst: row('application/zstd', 'zst tzst zstd'),
  lz4: row('application/x-lz4', 'lz4'),
  lz: row('application/x-lzip', 'lz tlz'),
  tar: row('application/x-tar', 'tar ova gem unitypackage'),
  '7z': row('application/x-7z-compressed', '7z cb7'),
  rar: row('application/vnd.rar', 'rar cbr rev'),
  cab: row('application/vnd.ms-cab-compressed', 'cab msu'),
  'is-cab': row('application/x-installshield', 'cab hdr'),
  deb: row('application/vnd.debian.binary-package', 'deb udeb ipk'),
  ar: row('application/x-unix-archive', 'a ar lib'),
  rpm: row('application/x-rpm', 'rpm'),

  doc: row('application/msword', 'doc dot wiz'),
  xls: row('application/vnd.ms-excel', 'xls xlt xla xlm xlw xlc et'),
  ppt: row('application/vnd.ms-powerpoint', 'ppt pps pot ppa dps'),
  msg: row('application/vnd.ms-outlook', 'msg oft'),
  vsd: row('application/vnd.visio', 'vsd vst vss'),
  pub: row('application/x-mspublisher', 'pub'),
  // An OOXML document with a password is a compound file.
  'encrypted-ooxml': row(
    'application/x-ole-storage',
    'docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm',
  ),
  ole: row(
    'application/x-ole-storage',
    'doc xls xlt xla ppt pps pot msg msi msp mst vsd pub mpp db docx xlsx pptx docm xlsm pptm wps one max sldprt sldasm slddrw qbw hwp fla rvt',
  ),

  mp3: row('audio/mpeg', 'mp3 mpga mp2 mp1 m2a mpa mp2a m3a'),
  aac: row('audio/aac', 'aac adts'),
  wav: row('audio/wav', 'wav wave bwf rf64'),
  flac: row('audio/flac', 'flac'),
  aif: row('audio/aiff', 'aif aiff aifc'),
  mid: row('audio/midi', 'mid midi kar rmi'),
  amr: row('audio/amr', 'amr'),
  ape: row('audio/ape', 'ape'),
  wv: row('audio/wavpack', 'wv'),
  tta: row('audio/x-tta', 'tta'),
  'ogg-opus': row('audio/ogg', 'opus ogg oga'),
  'ogg-audio': row('audio/ogg', 'ogg oga spx'),
  'ogg-video': row('video/ogg', 'ogv ogg ogm ogx'),
  ogx: row('application/ogg', 'ogg oga ogv ogx ogm spx opus'),
  m4a: row('audio/mp4', 'm4a m4b m4p m4r aac'),
  // An MPEG-4 file with audio only. Players and shops use both extensions.
  'mp4-audio': row('audio/mp4', 'm4a mp4 m4b m4p m4r mpg4 mp4a aax 3gp'),
  mp4: row('video/mp4', 'mp4 m4v mpg4 mp4v f4v f4p m4s'),
  // Cameras and phones write 3GPP brands into .mp4 files.
  '3gp': row('video/3gpp', '3gp 3gpp 3g2 3gpp2 mp4 m4v'),
  mov: row('video/quicktime', 'mov qt movie mp4 m4v'),
  'mov-mp4': row('video/mp4', 'mp4 m4v mov qt'),
  // Truncated before the part that contains the tracks.
  'iso-damaged': row('video/mp4', 'mp4 m4a m4v m4b m4p m4r 3gp 3g2 f4v'),
  webm: row('video/webm', 'webm weba mkv mka mks mk3d'),
  mkv: row('video/x-matroska', 'mkv mka mks mk3d webm weba'),
  avi: row('video/x-msvideo', 'avi divx'),
  flv: row('video/x-flv', 'flv f4v'),
  asf: row('video/x-ms-asf', 'wmv wma asf'),
  mpg: row('video/mpeg', 'mpg mpeg mpe m1v m2v vob m2p mp3 mp2'),
  mts: row('video/mp2t', 'ts mts m2ts m2t'),
  swf: row('application/x-shockwave-flash', 'swf'),

  exe: row('application/vnd.microsoft.portable-executable', 'exe dll sys scr com ocx cpl drv efi mui acm ax node pyd'),
  elf: row('application/x-elf', 'elf so o bin ko appimage axf prx node'),
  macho: row('application/x-mach-binary', 'macho dylib bundle o node'),
  class: row('application/java-vm', 'class'),
  wasm: row('application/wasm', 'wasm'),
  sqlite: row('application/vnd.sqlite3', 'sqlite sqlite3 db db3 s3db mbtiles gpkg'),
  lnk: row('application/x-ms-shortcut', 'lnk'),
  chm: row('application/vnd.ms-htmlhelp', 'chm'),
  pst: row('application/vnd.ms-outlook-pst', 'pst ost'),
  woff: row('font/woff', 'woff'),
  woff2: row('font/woff2', 'woff2'),
  ttf: row('font/ttf', 'ttf ttc otf'),
  otf: row('font/otf', 'otf ttf'),
  ttc: row('font/collection', 'ttc otc ttf'),
  dwg: row('image/vnd.dwg', 'dwg'),
  dcm: row('application/dicom', 'dcm dicom dic'),
  glb: row('model/gltf-binary', 'glb'),
  der: row('application/pkix-cert', 'crt cer der p12 pfx p7b p7c p7m p7s crl csr key spc'),
  bplist: row('application/x-plist', 'plist strings nib webarchive'),
  parquet: row('application/vnd.apache.parquet', 'parquet'),
  avro: row('application/vnd.apache.avro', 'avro'),
  iso: row('application/vnd.efi.iso', 'iso udf'),
  dmg: row('application/x-apple-diskimage', 'dmg'),
  stl: row('model/stl', 'stl'),
  shp: row('application/vnd.shp', 'shp'),
  dbf: row('application/vnd.dbf', 'dbf'),
  exr: row('image/x-exr', 'exr'),
  tga: row('image/x-tga', 'tga'),
  djvu: row('image/vnd.djvu', 'djvu djv'),
  npy: row('application/x-npy', 'npy'),
  h5: row('application/x-hdf5', 'h5 hdf5 he5'),
  fits: row('application/fits', 'fits fts'),
  nii: row('application/x-nifti', 'nii'),
}

/** Text types. A file with the extension must parse as the type. Any text may have one of the plain extensions. */
export const textTypes: Record<string, TypeRow> = {
  json: row('application/json', 'json geojson topojson webmanifest jsonld har ipynb gltf'),
  jsonl: row('application/x-ndjson', 'jsonl ndjson'),
  svg: row('image/svg+xml', 'svg'),
  xml: row(
    'application/xml',
    'xml xsd xsl xslt rss atom kml gpx rdf wsdl plist xliff xlf tei dae musicxml xhtml xht opf ncx resx xaml drawio owl sitemap',
  ),
  html: row('text/html', 'html htm shtml'),
  ics: row('text/calendar', 'ics ifb ical'),
  vcf: row('text/vcard', 'vcf vcard'),
  vtt: row('text/vtt', 'vtt'),
  step: row('model/step', 'step stp p21 ifc'),
  dxf: row('image/vnd.dxf', 'dxf'),
  csv: row('text/csv', 'csv tsv tab'),
  txt: row(
    'text/plain',
    'txt text log md markdown rst asc ini cfg conf properties toml yaml yml srt sql tex bib css js mjs cjs ts tsx jsx py rb go rs c h cpp hpp java kt cs php sh bat cmd ps1 r swift lua pl diff patch eml reg pem crt csr env nfo lst po json5 graphql proto tf adoc org dot gv',
  ),
}

// Content types of extensions that are more specific than the row of their type.
export const finerMime: Record<string, string> = {
  docm: 'application/vnd.ms-word.document.macroEnabled.12',
  dotx: `${ooxml}.wordprocessingml.template`,
  dotm: 'application/vnd.ms-word.template.macroEnabled.12',
  xlsm: 'application/vnd.ms-excel.sheet.macroEnabled.12',
  xltx: `${ooxml}.spreadsheetml.template`,
  xltm: 'application/vnd.ms-excel.template.macroEnabled.12',
  pptm: 'application/vnd.ms-powerpoint.presentation.macroEnabled.12',
  potx: `${ooxml}.presentationml.template`,
  ppsx: `${ooxml}.presentationml.slideshow`,
  ppsm: 'application/vnd.ms-powerpoint.slideshow.macroEnabled.12',
  ott: `${odf}.text-template`,
  ots: `${odf}.spreadsheet-template`,
  otp: `${odf}.presentation-template`,
  tsv: 'text/tab-separated-values',
  md: 'text/markdown',
  markdown: 'text/markdown',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  gltf: 'model/gltf+json',
  srt: 'application/x-subrip',
  toml: 'application/toml',
  eml: 'message/rfc822',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  geojson: 'application/geo+json',
  xhtml: 'application/xhtml+xml',
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  kml: 'application/vnd.google-earth.kml+xml',
  gpx: 'application/gpx+xml',
  opus: 'audio/ogg',
  ogv: 'video/ogg',
  oga: 'audio/ogg',
  spx: 'audio/ogg',
  m4v: 'video/x-m4v',
  mp2: 'audio/mpeg',
  wma: 'audio/x-ms-wma',
  wmv: 'video/x-ms-wmv',
  mka: 'audio/x-matroska',
  svgz: 'image/svg+xml',
  '3g2': 'video/3gpp2',
  dng: 'image/x-adobe-dng',
  heif: 'image/heif',
}
