import { ArgsType, Field, ID, Int, NullableField, OutputType } from '../../api/graphql/decorators.js'
import { createEnum } from '../../api/graphql/enum.js'
import { IntegerRange } from '../../api/graphql/rules.js'

export const PreviewSize = createEnum('PreviewSize', 'Size of a rendered preview. Small images are not enlarged.', {
  thumbnail: 'At most 96 × 96 pixels, for lists.',
  large: 'At most 1280 × 1280 pixels.',
})
export type PreviewSize = keyof typeof PreviewSize

@ArgsType()
export class FilePreviewArgs {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => PreviewSize, 'Size of the image. Ignored for text files.', { defaultValue: PreviewSize.large })
  size!: PreviewSize
  @Field(() => Int, 'Page number in a PDF, starting at 1. Ignored for other files.', { defaultValue: 1 })
  @IntegerRange(1, 1000)
  page!: number
}

@OutputType('Safe preview of a file: a rendered image, or the beginning of a text file. It never contains the original bytes.')
export class FilePreview {
  @Field(() => ID, 'ID of the file: `file_` followed by a ULID.')
  fileId!: string
  @Field(() => String, 'Content type of the preview: `image/webp`, or `text/plain; charset=utf-8`.')
  contentType!: string
  @NullableField(() => String, 'Image in Base64. Null for text files.')
  image!: string | null
  @NullableField(() => String, 'First 64 KiB of a text file. Null for images.')
  text!: string | null
  @NullableField(() => Int, 'Width of the image in pixels. Null for text files.')
  width!: number | null
  @NullableField(() => Int, 'Height of the image in pixels. Null for text files.')
  height!: number | null
  @Field(() => Int, 'Number of pages in the file. Always 1 unless the file is a PDF.')
  pageCount!: number
  @Field(() => Boolean, 'True if the text is longer than its preview.')
  isTruncated!: boolean
}
