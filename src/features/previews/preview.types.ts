import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import { createEnum } from '../../api/graphql/enum.js'
import { IntegerRange, NullableField } from '../../api/graphql/rules.js'

export const PreviewSize = createEnum('PreviewSize', 'Size of a rendered preview. Small images are not enlarged.', {
  thumbnail: 'At most 96 × 96 pixels, for lists.',
  large: 'At most 1280 × 1280 pixels.',
})
export type PreviewSize = keyof typeof PreviewSize

@ArgsType()
export class FilePreviewArgs {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => PreviewSize, { defaultValue: PreviewSize.large, description: 'Size of the image. Ignored for text files.' })
  size!: PreviewSize
  @Field(() => Int, { defaultValue: 1, description: 'Page number in a PDF, starting at 1. Ignored for other files.' })
  @IntegerRange(1, 1000)
  page!: number
}

@ObjectType({
  simpleResolvers: true,
  description: 'Safe preview of a file: a rendered image, or the beginning of a text file. It never contains the original bytes.',
})
export class FilePreview {
  @Field(() => ID, { description: 'ID of the file: `file_` followed by a ULID.' })
  fileId!: string
  @Field(() => String, { description: 'Content type of the preview: `image/webp`, or `text/plain; charset=utf-8`.' })
  contentType!: string
  @NullableField(() => String, 'Image in Base64. Null for text files.')
  image!: string | null
  @NullableField(() => String, 'First 64 KiB of a text file. Null for images.')
  text!: string | null
  @NullableField(() => Int, 'Width of the image in pixels. Null for text files.')
  width!: number | null
  @NullableField(() => Int, 'Height of the image in pixels. Null for text files.')
  height!: number | null
  @Field(() => Int, { description: 'Number of pages in the file. Always 1 unless the file is a PDF.' })
  pageCount!: number
  @Field(() => Boolean, { description: 'True if the text is longer than its preview.' })
  isTruncated!: boolean
}
