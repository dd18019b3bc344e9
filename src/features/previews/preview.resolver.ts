import type { Attempt } from '../../access/admission.js'
import { Args, Query, Resolver } from '../../api/graphql/decorators.js'
import { CurrentAttempt, Requires } from '../../api/graphql/requires.js'
import type { PreviewService } from './preview.service.js'
import { FilePreview, FilePreviewArgs } from './preview.types.js'

@Resolver(() => FilePreview)
export class PreviewResolver {
  constructor(private readonly previews: PreviewService) {}

  @Requires('download', {}, ({ context }) => (context.isHead ? { access: 'download', isUnlogged: true } : undefined))
  @Query(
    () => FilePreview,
    'Returns a preview of an image, a PDF or a text file. It does not count as a download. Returns the error `not_found` for a file without a preview, and `quarantined` for a quarantined file.',
  )
  filePreview(@CurrentAttempt() attempt: Attempt, @Args(() => FilePreviewArgs) args: FilePreviewArgs) {
    return this.previews.get(attempt, args)
  }
}
