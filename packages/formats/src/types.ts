/** Content type and extensions of a file type. A type is named after its most common extension. */
export interface TypeRow {
  mime: string
  extensions: string[]
}

const createRow = (mime: string, extensions: string): TypeRow => ({ mime, extensions: extensions.split(' ') })

const ooxml = 'application/vnd.openxmlformats-officedocument'
const odf = 'application/vnd.oasis.opendocument'

// Extensions of formats that cannot be distinguished from their container (zip, compound file or TIFF).
const zipBased =
  'zip zipx key cbz kmz sketch pages numbers nupkg whl vsix vsdx idml 3mf usdz mscz mxl hwpx xmind fla oxt xpi crx ipa aab mmap'
export const rawPhotos = 'dng nef nrw arw sr2 cr2 pef srw 3fr iiq dcr kdc erf mef mos rwl orf rw2 gpr'

/** Binary types, and text types with a distinctive signature (PDF, RTF, PostScript). */
export const types: Record<string, TypeRow> = {
  pdf: createRow('application/pdf', 'pdf ai'),
  rtf: createRow('application/rtf', 'rtf doc'),
  ps: createRow('application/postscript', 'ps eps ai prn'),
  eps: createRow('application/postscript', 'eps ps epsf epsi ai'),

  jpg: createRow('image/jpeg', 'jpg jpeg jpe jfif jif jfi pjpeg pjp thm mpo'),
  png: createRow('image/png', 'png apng'),
  gif: createRow('image/gif', 'gif'),
  webp: createRow('image/webp', 'webp'),
  tif: createRow('image/tiff', `tif tiff geotiff ${rawPhotos}`),
  'raw-photo': createRow('image/tiff', `tif tiff ${rawPhotos}`),
  bmp: createRow('image/bmp', 'bmp dib rle'),
  heic: createRow('image/heic', 'heic heif heics heifs hif'),
  avif: createRow('image/avif', 'avif avifs heif'),
  ico: createRow('image/x-icon', 'ico cur'),
  psd: createRow('image/vnd.adobe.photoshop', 'psd psb'),
  jp2: createRow('image/jp2', 'jp2 jpg2 j2k j2c jpf jpx jpm mj2 mjp2 jpc'),
  jxl: createRow('image/jxl', 'jxl'),

  // Java accepts any zip as a library, even without a manifest or classes.
  zip: createRow('application/zip', `${zipBased} jar war ear aar`),
  docx: createRow(`${ooxml}.wordprocessingml.document`, 'docx docm dotx dotm zip'),
  docm: createRow('application/vnd.ms-word.document.macroEnabled.12', 'docm dotm zip'),
  xlsx: createRow(`${ooxml}.spreadsheetml.sheet`, 'xlsx xlsm xltx xltm xlam zip'),
  xlsm: createRow('application/vnd.ms-excel.sheet.macroEnabled.12', 'xlsm xltm xlam zip'),
  xlsb: createRow('application/vnd.ms-excel.sheet.binary.macroEnabled.12', 'xlsb zip'),
  pptx: createRow(`${ooxml}.presentationml.presentation`, 'pptx pptm potx potm ppsx ppsm ppam sldx sldm zip'),
  pptm: createRow('application/vnd.ms-powerpoint.presentation.macroEnabled.12', 'pptm potm ppsm ppam sldm zip'),
  vsdx: createRow('application/vnd.ms-visio.drawing', 'vsdx vsdm vstx vstm vssx vssm zip'),
  ooxml: createRow(
    'application/zip',
    `docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm thmx vsdx vsdm xps oxps appx msix ${zipBased}`,
  ),
  odt: createRow(`${odf}.text`, 'odt ott odm zip'),
  ods: createRow(`${odf}.spreadsheet`, 'ods ots zip'),
  odp: createRow(`${odf}.presentation`, 'odp otp zip'),
  odg: createRow(`${odf}.graphics`, 'odg otg zip'),
  odf: createRow('application/zip', 'odt ott odm ods ots odp otp odg otg odf odb odc odi zip'),
  epub: createRow('application/epub+zip', 'epub zip'),
  jar: createRow('application/java-archive', 'jar war ear aar zip xpi'),
  apk: createRow('application/vnd.android.package-archive', 'apk jar aar aab zip'),
  'zip-damaged': createRow(
    'application/zip',
    `docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm vsdm odt ott odm ods ots odp otp odg otg epub jar war ear aar apk xps oxps ${zipBased}`,
  ),
  gz: createRow('application/gzip', 'gz gzip tgz taz tar.gz svgz emz wmz vgz dia adz cpgz ipk unitypackage'),
  bz2: createRow('application/x-bzip2', 'bz2 bz tbz tbz2'),
  xz: createRow('application/x-xz', 'xz txz'),
  zst: createRow('application/zstd', 'zst tzst zstd'),
  lz4: createRow('application/x-lz4', 'lz4'),
  lz: createRow('application/x-lzip', 'lz tlz'),
  tar: createRow('application/x-tar', 'tar ova gem unitypackage'),
  '7z': createRow('application/x-7z-compressed', '7z cb7'),
  rar: createRow('application/vnd.rar', 'rar cbr rev'),
  cab: createRow('application/vnd.ms-cab-compressed', 'cab msu'),
  'is-cab': createRow('application/x-installshield', 'cab hdr'),
  deb: createRow('application/vnd.debian.binary-package', 'deb udeb ipk'),
  ar: createRow('application/x-unix-archive', 'a ar lib'),
  rpm: createRow('application/x-rpm', 'rpm'),

  doc: createRow('application/msword', 'doc dot wiz'),
  xls: createRow('application/vnd.ms-excel', 'xls xlt xla xlm xlw xlc et'),
  ppt: createRow('application/vnd.ms-powerpoint', 'ppt pps pot ppa dps'),
  msg: createRow('application/vnd.ms-outlook', 'msg oft'),
  vsd: createRow('application/vnd.visio', 'vsd vst vss'),
  pub: createRow('application/x-mspublisher', 'pub'),
  // Password-protected OOXML documents are compound files.
  'encrypted-ooxml': createRow(
    'application/x-ole-storage',
    'docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm',
  ),
  ole: createRow(
    'application/x-ole-storage',
    'doc xls xlt xla ppt pps pot msg msi msp mst vsd pub mpp db docx xlsx pptx docm xlsm pptm wps max sldprt sldasm slddrw qbw hwp fla rvt',
  ),

  one: createRow('application/onenote', 'one onetoc2'),

  mp3: createRow('audio/mpeg', 'mp3 mpga mp2 mp1 m2a mpa mp2a m3a'),
  aac: createRow('audio/aac', 'aac adts'),
  wav: createRow('audio/wav', 'wav wave bwf rf64'),
  flac: createRow('audio/flac', 'flac'),
  aif: createRow('audio/aiff', 'aif aiff aifc'),
  mid: createRow('audio/midi', 'mid midi kar rmi'),
  amr: createRow('audio/amr', 'amr'),
  ape: createRow('audio/ape', 'ape'),
  wv: createRow('audio/wavpack', 'wv'),
  tta: createRow('audio/x-tta', 'tta'),
  'ogg-opus': createRow('audio/ogg', 'opus ogg oga'),
  'ogg-audio': createRow('audio/ogg', 'ogg oga spx'),
  'ogg-video': createRow('video/ogg', 'ogv ogg ogm ogx'),
  ogx: createRow('application/ogg', 'ogg oga ogv ogx ogm spx opus'),
  // iTunes and ffmpeg also write the M4A brand into .mp4 files.
  m4a: createRow('audio/mp4', 'm4a m4b m4p m4r aac mp4'),
  // MPEG-4 audio, which has either extension in practice.
  'mp4-audio': createRow('audio/mp4', 'm4a mp4 m4b m4p m4r mpg4 mp4a aax 3gp'),
  mp4: createRow('video/mp4', 'mp4 m4v mpg4 mp4v f4v f4p m4s'),
  // Cameras and phones write 3GPP brands into .mp4 files.
  '3gp': createRow('video/3gpp', '3gp 3gpp 3g2 3gpp2 mp4 m4v'),
  mov: createRow('video/quicktime', 'mov qt movie mp4 m4v'),
  'mov-mp4': createRow('video/mp4', 'mp4 m4v mov qt'),
  // Files that end before the track list. Their exact type is therefore unknown.
  'iso-damaged': createRow('video/mp4', 'mp4 m4a m4v m4b m4p m4r 3gp 3g2 f4v'),
  webm: createRow('video/webm', 'webm weba mkv mka mks mk3d'),
  mkv: createRow('video/x-matroska', 'mkv mka mks mk3d webm weba'),
  avi: createRow('video/x-msvideo', 'avi divx'),
  flv: createRow('video/x-flv', 'flv f4v'),
  asf: createRow('video/x-ms-asf', 'wmv wma asf'),
  mpg: createRow('video/mpeg', 'mpg mpeg mpe m1v m2v vob m2p mp3 mp2'),
  mts: createRow('video/mp2t', 'ts mts m2ts m2t'),
  swf: createRow('application/x-shockwave-flash', 'swf'),

  exe: createRow('application/vnd.microsoft.portable-executable', 'exe dll sys scr com ocx cpl drv efi mui acm ax node pyd'),
  elf: createRow('application/x-elf', 'elf so o bin ko appimage axf prx node'),
  macho: createRow('application/x-mach-binary', 'macho dylib bundle o node'),
  class: createRow('application/java-vm', 'class'),
  wasm: createRow('application/wasm', 'wasm'),
  sqlite: createRow('application/vnd.sqlite3', 'sqlite sqlite3 db db3 s3db mbtiles gpkg'),
  lnk: createRow('application/x-ms-shortcut', 'lnk'),
  chm: createRow('application/vnd.ms-htmlhelp', 'chm'),
  pst: createRow('application/vnd.ms-outlook-pst', 'pst ost'),
  woff: createRow('font/woff', 'woff'),
  woff2: createRow('font/woff2', 'woff2'),
  ttf: createRow('font/ttf', 'ttf ttc otf'),
  otf: createRow('font/otf', 'otf ttf'),
  ttc: createRow('font/collection', 'ttc otc ttf'),
  dwg: createRow('image/vnd.dwg', 'dwg'),
  dcm: createRow('application/dicom', 'dcm dicom dic'),
  glb: createRow('model/gltf-binary', 'glb'),
  der: createRow('application/pkix-cert', 'crt cer der p12 pfx p7b p7c p7m p7s crl csr key spc'),
  bplist: createRow('application/x-plist', 'plist strings nib webarchive'),
  parquet: createRow('application/vnd.apache.parquet', 'parquet'),
  avro: createRow('application/vnd.apache.avro', 'avro'),
  iso: createRow('application/vnd.efi.iso', 'iso udf'),
  dmg: createRow('application/x-apple-diskimage', 'dmg'),
  stl: createRow('model/stl', 'stl'),
  shp: createRow('application/vnd.shp', 'shp'),
  dbf: createRow('application/vnd.dbf', 'dbf'),
  exr: createRow('image/x-exr', 'exr'),
  tga: createRow('image/x-tga', 'tga'),
  djvu: createRow('image/vnd.djvu', 'djvu djv'),
  npy: createRow('application/x-npy', 'npy'),
  h5: createRow('application/x-hdf5', 'h5 hdf5 he5'),
  fits: createRow('application/fits', 'fits fts'),
  nii: createRow('application/x-nifti', 'nii'),
}

/**
 * Text types. A file must parse as the type to which its extension belongs. Plain text may have any of the plain-text extensions.
 */
export const textTypes: Record<string, TypeRow> = {
  json: createRow('application/json', 'json geojson topojson webmanifest jsonld har ipynb gltf'),
  jsonl: createRow('application/x-ndjson', 'jsonl ndjson'),
  svg: createRow('image/svg+xml', 'svg'),
  xml: createRow(
    'application/xml',
    'xml xsd xsl xslt rss atom kml gpx rdf wsdl plist xliff xlf tei dae musicxml xhtml xht opf ncx resx xaml drawio owl sitemap dia webarchive',
  ),
  html: createRow('text/html', 'html htm shtml'),
  ics: createRow('text/calendar', 'ics ifb ical'),
  vcf: createRow('text/vcard', 'vcf vcard'),
  vtt: createRow('text/vtt', 'vtt'),
  step: createRow('model/step', 'step stp p21 ifc'),
  dxf: createRow('image/vnd.dxf', 'dxf'),
  csv: createRow('text/csv', 'csv tsv tab'),
  txt: createRow(
    'text/plain',
    'txt text log md markdown rst asc ini cfg conf properties toml yaml yml srt sql tex bib css js mjs cjs ts tsx jsx py rb go rs c h cpp hpp java kt cs php sh bat cmd ps1 r swift lua pl diff patch eml reg pem crt csr env nfo lst po json5 graphql proto tf adoc org dot gv key pot dic strings',
  ),
}

// Content types by extension, if they differ within a file type. For example, docx and dotx belong to one file type.
export const mimeByExtension: Record<string, string> = {
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
  idml: 'application/vnd.adobe.indesign-idml-package',
  hwpx: 'application/hwp+zip',
  mxl: 'application/vnd.recordare.musicxml',
}
