import type { Call } from '../../access/call.js'
import { Arg, Args, FieldResolver, ID, Mutation, Query, Resolver, Root } from '../../api/graphql/decorators.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentActor, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { Actor } from '../../platform/actor.js'
import { File } from '../files/file.types.js'
import type { UploadLinkService } from './upload-link.service.js'
import { CreateUploadLinkInput, NewUploadLink, UploadLink, UploadLinkPage, UploadLinksArgs } from './upload-link.types.js'

const LinkId = () => Arg('linkId', () => ID, 'ID of the upload link: `ulk_` followed by a ULID.')

@Resolver(() => File)
export class UploadLinkResolver {
  constructor(private readonly links: UploadLinkService) {}

  @Requires('upload')
  @Query(() => UploadLinkPage, 'Lists upload links, newest first. A credential without scope `admin` sees only its own links.')
  uploadLinks(@CurrentActor() actor: Actor, @Args(() => UploadLinksArgs) args: UploadLinksArgs) {
    return this.links.list(actor, args)
  }

  @Requires('upload')
  @Query(() => UploadLink, 'Returns one upload link. Returns the error `not_found` if the ID is unknown.')
  uploadLink(@CurrentActor() actor: Actor, @LinkId() linkId: string) {
    return this.links.get(actor, linkId)
  }

  @Requires('upload')
  @Mutation(() => NewUploadLink, 'Creates a link through which a client without an API key can upload files to one context.')
  createUploadLink(
    @CurrentActor() actor: Actor,
    @CurrentCall() call: Call,
    @Arg('input', () => CreateUploadLinkInput, 'Properties of the new upload link.')
    input: CreateUploadLinkInput,
  ) {
    return this.links.create(actor, input, (field) => call.requestName(`input.${field}`))
  }

  @Requires('upload')
  @Mutation(() => UploadLink, 'Revokes an upload link. Uploads in progress through the link are not stored.')
  revokeUploadLink(@CurrentActor() actor: Actor, @LinkId() linkId: string) {
    return this.links.revoke(actor, linkId)
  }

  @Requires('metadata')
  @FieldResolver(
    () => UploadLink,
    'Upload link through which the file was uploaded. Null if no link was used, or if the caller cannot access the link.',
    { name: 'uploadLink', nullable: true },
  )
  uploadLinkOfFile(@CurrentCall() call: Call, @Root() file: File) {
    const actor = call.requireActor()
    return loadRelation(call, 'File.uploadLink', file.fileId, (ids) => this.links.getByFileIds(actor, ids))
  }
}
