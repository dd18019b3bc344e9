/** Content type and extensions of a file type. A type is named after its most common extension. */
export interface TypeRow {
  mime: string
  extensions: string[]
}

const createTypeRow = (mime: string, extensions: string): TypeRow => ({ mime, extensions: extensions.split(' ') })

const ooxml = 'application/vnd.openxmlformats-officedocument'
const odf = 'application/vnd.oasis.opendocument'

// Extensions of formats that cannot be distinguished from their container (zip, compound file or TIFF).
const zipBased =
  'zip zipx key cbz kmz sketch pages numbers nupkg whl vsix vsdx idml 3mf usdz mscz mxl hwpx xmind fla oxt xpi crx ipa aab mmap'
export const rawPhotos = 'dng nef nrw arw sr2 cr2 pef srw 3fr iiq dcr kdc erf mef mos rwl orf rw2 gpr'

/** Binary types, and text types with a distinctive signature (PDF, RTF, PostScript). */
export const types: Record<string, TypeRow> = {
  pdf: createTypeRow('application/pdf', 'pdf ai'),
  rtf: createTypeRow('application/rtf', 'rtf doc'),
  ps: createTypeRow('application/postscript', 'ps eps ai prn'),
  eps: createTypeRow('application/postscript', 'eps ps epsf epsi ai'),

  jpg: createTypeRow('image/jpeg', 'jpg jpeg jpe jfif jif jfi pjpeg pjp thm mpo'),
  png: createTypeRow('image/png', 'png apng'),
  gif: createTypeRow('image/gif', 'gif'),
  webp: createTypeRow('image/webp', 'webp'),
  tif: createTypeRow('image/tiff', `tif tiff geotiff ${rawPhotos}`),
  'raw-photo': createTypeRow('image/tiff', `tif tiff ${rawPhotos}`),
  bmp: createTypeRow('image/bmp', 'bmp dib rle'),
  heic: createTypeRow('image/heic', 'heic heif heics heifs hif'),
  avif: createTypeRow('image/avif', 'avif avifs heif'),
  ico: createTypeRow('image/x-icon', 'ico cur'),
  psd: createTypeRow('image/vnd.adobe.photoshop', 'psd psb'),
  jp2: createTypeRow('image/jp2', 'jp2 jpg2 j2k j2c jpf jpx jpm mj2 mjp2 jpc'),
  jxl: createTypeRow('image/jxl', 'jxl'),

  // Java accepts any zip as a library, even without a manifest or classes.
  zip: createTypeRow('application/zip', `${zipBased} jar war ear aar`),
  docx: createTypeRow(`${ooxml}.wordprocessingml.document`, 'docx docm dotx dotm zip'),
  docm: createTypeRow('application/vnd.ms-word.document.macroEnabled.12', 'docm dotm zip'),
  xlsx: createTypeRow(`${ooxml}.spreadsheetml.sheet`, 'xlsx xlsm xltx xltm xlam zip'),
  xlsm: createTypeRow('application/vnd.ms-excel.sheet.macroEnabled.12', 'xlsm xltm xlam zip'),
  xlsb: createTypeRow('application/vnd.ms-excel.sheet.binary.macroEnabled.12', 'xlsb zip'),
  pptx: createTypeRow(`${ooxml}.presentationml.presentation`, 'pptx pptm potx potm ppsx ppsm ppam sldx sldm zip'),
  pptm: createTypeRow('application/vnd.ms-powerpoint.presentation.macroEnabled.12', 'pptm potm ppsm ppam sldm zip'),
  vsdx: createTypeRow('application/vnd.ms-visio.drawing', 'vsdx vsdm vstx vstm vssx vssm zip'),
  ooxml: createTypeRow(
    'application/zip',
    `docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm thmx vsdx vsdm xps oxps appx msix ${zipBased}`,
  ),
  odt: createTypeRow(`${odf}.text`, 'odt ott odm zip'),
  ods: createTypeRow(`${odf}.spreadsheet`, 'ods ots zip'),
  odp: createTypeRow(`${odf}.presentation`, 'odp otp zip'),
  odg: createTypeRow(`${odf}.graphics`, 'odg otg zip'),
  odf: createTypeRow('application/zip', 'odt ott odm ods ots odp otp odg otg odf odb odc odi zip'),
  epub: createTypeRow('application/epub+zip', 'epub zip'),
  jar: createTypeRow('application/java-archive', 'jar war ear aar zip xpi'),
  apk: createTypeRow('application/vnd.android.package-archive', 'apk jar aar aab zip'),
  'zip-damaged': createTypeRow(
    'application/zip',
    `docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm vsdm odt ott odm ods ots odp otp odg otg epub jar war ear aar apk xps oxps ${zipBased}`,
  ),
  gz: createTypeRow('application/gzip', 'gz gzip tgz taz tar.gz svgz emz wmz vgz dia adz cpgz ipk unitypackage'),
  bz2: createTypeRow('application/x-bzip2', 'bz2 bz tbz tbz2'),
  xz: createTypeRow('application/x-xz', 'xz txz'),
  zst: createTypeRow('application/zstd', 'zst tzst zstd'),
  lz4: createTypeRow('application/x-lz4', 'lz4'),
  lz: createTypeRow('application/x-lzip', 'lz tlz'),
  tar: createTypeRow('application/x-tar', 'tar ova gem unitypackage'),
  '7z': createTypeRow('application/x-7z-compressed', '7z cb7'),
  rar: createTypeRow('application/vnd.rar', 'rar cbr rev'),
  cab: createTypeRow('application/vnd.ms-cab-compressed', 'cab msu'),
  'is-cab': createTypeRow('application/x-installshield', 'cab hdr'),
  deb: createTypeRow('application/vnd.debian.binary-package', 'deb udeb ipk'),
  ar: createTypeRow('application/x-unix-archive', 'a ar lib'),
  rpm: createTypeRow('application/x-rpm', 'rpm'),

  doc: createTypeRow('application/msword', 'doc dot wiz'),
  xls: createTypeRow('application/vnd.ms-excel', 'xls xlt xla xlm xlw xlc et'),
  ppt: createTypeRow('application/vnd.ms-powerpoint', 'ppt pps pot ppa dps'),
  msg: createTypeRow('application/vnd.ms-outlook', 'msg oft'),
  vsd: createTypeRow('application/vnd.visio', 'vsd vst vss'),
  pub: createTypeRow('application/x-mspublisher', 'pub'),
  // Password-protected OOXML documents are compound files.
  'encrypted-ooxml': createTypeRow(
    'application/x-ole-storage',
    'docx docm dotx dotm xlsx xlsm xltx xltm xlsb xlam pptx pptm potx potm ppsx ppsm',
  ),
  ole: createTypeRow(
    'application/x-ole-storage',
    'doc xls xlt xla ppt pps pot msg msi msp mst vsd pub mpp db docx xlsx pptx docm xlsm pptm wps max sldprt sldasm slddrw qbw hwp fla rvt',
  ),

  one: createTypeRow('application/onenote', 'one onetoc2'),

  mp3: createTypeRow('audio/mpeg', 'mp3 mpga mp2 mp1 m2a mpa mp2a m3a'),
  aac: createTypeRow('audio/aac', 'aac adts'),
  wav: createTypeRow('audio/wav', 'wav wave bwf rf64'),
  flac: createTypeRow('audio/flac', 'flac'),
  aif: createTypeRow('audio/aiff', 'aif aiff aifc'),
  mid: createTypeRow('audio/midi', 'mid midi kar rmi'),
  amr: createTypeRow('audio/amr', 'amr'),
  ape: createTypeRow('audio/ape', 'ape'),
  wv: createTypeRow('audio/wavpack', 'wv'),
  tta: createTypeRow('audio/x-tta', 'tta'),
  'ogg-opus': createTypeRow('audio/ogg', 'opus ogg oga'),
  'ogg-audio': createTypeRow('audio/ogg', 'ogg oga spx'),
  'ogg-video': createTypeRow('video/ogg', 'ogv ogg ogm ogx'),
  ogx: createTypeRow('application/ogg', 'ogg oga ogv ogx ogm spx opus'),
  // iTunes and ffmpeg also write the M4A brand into .mp4 files.
  m4a: createTypeRow('audio/mp4', 'm4a m4b m4p m4r aac mp4'),
  // MPEG-4 audio, which has either extension in practice.
  'mp4-audio': createTypeRow('audio/mp4', 'm4a mp4 m4b m4p m4r mpg4 mp4a aax 3gp'),
  mp4: createTypeRow('video/mp4', 'mp4 m4v mpg4 mp4v f4v f4p m4s'),
  // Cameras and phones write 3GPP brands into .mp4 files.
  '3gp': createTypeRow('video/3gpp', '3gp 3gpp 3g2 3gpp2 mp4 m4v'),
  mov: createTypeRow('video/quicktime', 'mov qt movie mp4 m4v'),
  'mov-mp4': createTypeRow('video/mp4', 'mp4 m4v mov qt'),
  // Files that end before the track list. Their exact type is therefore unknown.
  'iso-damaged': createTypeRow('video/mp4', 'mp4 m4a m4v m4b m4p m4r 3gp 3g2 f4v'),
  webm: createTypeRow('video/webm', 'webm weba mkv mka mks mk3d'),
  mkv: createTypeRow('video/x-matroska', 'mkv mka mks mk3d webm weba'),
  avi: createTypeRow('video/x-msvideo', 'avi divx'),
  flv: createTypeRow('video/x-flv', 'flv f4v'),
  asf: createTypeRow('video/x-ms-asf', 'wmv wma asf'),
  mpg: createTypeRow('video/mpeg', 'mpg mpeg mpe m1v m2v vob m2p mp3 mp2'),
  mts: createTypeRow('video/mp2t', 'ts mts m2ts m2t'),
  swf: createTypeRow('application/x-shockwave-flash', 'swf'),

  exe: createTypeRow('application/vnd.microsoft.portable-executable', 'exe dll sys scr com ocx cpl drv efi mui acm ax node pyd'),
  elf: createTypeRow('application/x-elf', 'elf so o bin ko appimage axf prx node'),
  macho: createTypeRow('application/x-mach-binary', 'macho dylib bundle o node'),
  class: createTypeRow('application/java-vm', 'class'),
  wasm: createTypeRow('application/wasm', 'wasm'),
  sqlite: createTypeRow('application/vnd.sqlite3', 'sqlite sqlite3 db db3 s3db mbtiles gpkg'),
  lnk: createTypeRow('application/x-ms-shortcut', 'lnk'),
  chm: createTypeRow('application/vnd.ms-htmlhelp', 'chm'),
  pst: createTypeRow('application/vnd.ms-outlook-pst', 'pst ost'),
  woff: createTypeRow('font/woff', 'woff'),
  woff2: createTypeRow('font/woff2', 'woff2'),
  ttf: createTypeRow('font/ttf', 'ttf ttc otf'),
  otf: createTypeRow('font/otf', 'otf ttf'),
  ttc: createTypeRow('font/collection', 'ttc otc ttf'),
  dwg: createTypeRow('image/vnd.dwg', 'dwg'),
  dcm: createTypeRow('application/dicom', 'dcm dicom dic'),
  glb: createTypeRow('model/gltf-binary', 'glb'),
  der: createTypeRow('application/pkix-cert', 'crt cer der p12 pfx p7b p7c p7m p7s crl csr key spc'),
  bplist: createTypeRow('application/x-plist', 'plist strings nib webarchive'),
  parquet: createTypeRow('application/vnd.apache.parquet', 'parquet'),
  avro: createTypeRow('application/vnd.apache.avro', 'avro'),
  iso: createTypeRow('application/vnd.efi.iso', 'iso udf'),
  dmg: createTypeRow('application/x-apple-diskimage', 'dmg'),
  stl: createTypeRow('model/stl', 'stl'),
  shp: createTypeRow('application/vnd.shp', 'shp'),
  dbf: createTypeRow('application/vnd.dbf', 'dbf'),
  exr: createTypeRow('image/x-exr', 'exr'),
  tga: createTypeRow('image/x-tga', 'tga'),
  djvu: createTypeRow('image/vnd.djvu', 'djvu djv'),
  npy: createTypeRow('application/x-npy', 'npy'),
  h5: createTypeRow('application/x-hdf5', 'h5 hdf5 he5'),
  fits: createTypeRow('application/fits', 'fits fts'),
  nii: createTypeRow('application/x-nifti', 'nii'),
}

/**
 * Text types. A file must parse as the type to which its extension belongs. Plain text may have any of the plain-text extensions.
 */
export const textTypes: Record<string, TypeRow> = {
  json: createTypeRow('application/json', 'json geojson topojson webmanifest jsonld har ipynb gltf'),
  jsonl: createTypeRow('application/x-ndjson', 'jsonl ndjson'),
  svg: createTypeRow('image/svg+xml', 'svg'),
  xml: createTypeRow(
    'application/xml',
    'xml xsd xsl xslt rss atom kml gpx rdf wsdl plist xliff xlf tei dae musicxml xhtml xht opf ncx resx xaml drawio owl sitemap dia webarchive',
  ),
  html: createTypeRow('text/html', 'html htm shtml'),
  ics: createTypeRow('text/calendar', 'ics ifb ical'),
  vcf: createTypeRow('text/vcard', 'vcf vcard'),
  vtt: createTypeRow('text/vtt', 'vtt'),
  step: createTypeRow('model/step', 'step stp p21 ifc'),
  dxf: createTypeRow('image/vnd.dxf', 'dxf'),
  csv: createTypeRow('text/csv', 'csv tsv tab'),
  txt: createTypeRow(
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
