import { Args, FieldResolver, Mutation, Query, Resolver, Root } from 'type-graphql'
import type { Attempt } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import { FileId } from '../../api/graphql/arguments.js'
import { batched } from '../../api/graphql/batched.js'
import { CurrentAttempt, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { FileContextService } from '../contexts/context.service.js'
import { FileContext } from '../contexts/context.types.js'
import type { FileService } from './file.service.js'
import {
  DeletedFile,
  DeleteFilesArgs,
  DownloadUrl,
  DownloadUrlArgs,
  File,
  FileConnection,
  FileDeletion,
  FilePage,
  FilesArgs,
  FilesConnectionArgs,
  Uploader,
  UploadFileArgs,
  ValidateFileArgs,
} from './file.types.js'
import type { UploadService } from './upload.service.js'
import { FileValidationsArgs, ValidationReportPage, ValidationReportType } from './validation.types.js'

@Resolver(() => File)
export class FileResolver {
  readonly #files: FileService
  readonly #uploads: UploadService
  readonly #contexts: FileContextService

  constructor(files: FileService, uploads: UploadService, contexts: FileContextService) {
    this.#files = files
    this.#uploads = uploads
    this.#contexts = contexts
  }

  @Requires('metadata')
  @Query(() => FilePage, { description: 'The tenant’s files, newest first.' })
  files(@CurrentAttempt() attempt: Attempt, @Args(() => FilesArgs) args: FilesArgs) {
    return this.#files.list(attempt, args)
  }

  @Requires('metadata')
  @Query(() => FileConnection, { description: 'The tenant’s files as a connection, newest first.' })
  filesConnection(@CurrentAttempt() attempt: Attempt, @Args(() => FilesConnectionArgs) args: FilesConnectionArgs) {
    return this.#files.connection(attempt, args)
  }

  @Requires('metadata')
  @Query(() => File, { description: 'One file’s metadata.' })
  file(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.#files.get(attempt, fileId)
  }

  @Requires('metadata')
  @Query(() => ValidationReportType, { description: 'The latest validation report on a file.' })
  fileValidation(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.#files.validation(attempt, fileId)
  }

  @Requires('metadata')
  @Query(() => ValidationReportPage, {
    description: 'Validation reports of a file, newest first: one for its upload, and one for each later scan.',
  })
  fileValidations(
    @CurrentAttempt() attempt: Attempt,
    @Args(() => FileValidationsArgs) { fileId, ...place }: FileValidationsArgs,
  ) {
    return this.#files.reports(attempt, fileId, place)
  }

  @Requires('upload')
  @Mutation(() => File, { description: 'Tests a file against its context’s rules and keeps it.' })
  uploadFile(@CurrentAttempt() attempt: Attempt, @Args(() => UploadFileArgs) input: UploadFileArgs) {
    return this.#uploads.upload(attempt, input)
  }

  @Requires('upload', { dryRun: true })
  @Mutation(() => ValidationReportType, { description: 'Tests a file and keeps nothing: the report that an upload would get.' })
  validateFile(@CurrentAttempt() attempt: Attempt, @Args(() => ValidateFileArgs) input: ValidateFileArgs) {
    return this.#uploads.validate(attempt, input)
  }

  @Requires('download', {}, ({ context }) => (context.isHead ? { access: 'download', step: true } : undefined))
  @Mutation(() => DownloadUrl, {
    description:
      'Makes a pre-signed, short-lived download URL. It dies with the credential that asked for it; that of a bucket cannot, and lives out its five minutes.',
  })
  createDownloadUrl(@CurrentAttempt() attempt: Attempt, @Args(() => DownloadUrlArgs) { fileId, once }: DownloadUrlArgs) {
    return this.#files.createDownloadUrl(attempt, fileId, once)
  }

  @Requires('delete')
  @Mutation(() => DeletedFile, { description: 'Deletes a file, at once for every reader.' })
  deleteFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.#files.delete(attempt, fileId)
  }

  @Requires('delete')
  @Mutation(() => [FileDeletion], {
    description: 'Deletes up to 100 files, each as deleting it alone would; one that is refused keeps no other.',
  })
  deleteFiles(@CurrentAttempt() attempt: Attempt, @Args(() => DeleteFilesArgs) { fileIds }: DeleteFilesArgs) {
    return this.#files.deleteMany(attempt, fileIds)
  }

  @Requires('any')
  @FieldResolver(() => FileContext, { nullable: true, description: 'The context that it was uploaded into.' })
  context(@CurrentCall() call: Call, @Root() file: File) {
    return batched(call, 'File.context', file.contextId, (ids) => this.#contexts.byIds(file.tenantId, ids))
  }

  @Requires('metadata')
  @FieldResolver(() => ValidationReportType, { nullable: true, description: 'The latest report on it.' })
  validation(@CurrentCall() call: Call, @Root() file: File) {
    return batched(call, 'File.validation', file.fileId, (ids) => this.#files.validations(file.tenantId, ids))
  }

  @Requires('metadata')
  @FieldResolver(() => Uploader, { nullable: true, description: 'Who uploaded it; null where that key or user is gone.' })
  uploader(@CurrentCall() call: Call, @Root() file: File) {
    return batched(call, 'File.uploader', file.uploadedBy, (ids) => this.#files.uploaders(file.tenantId, ids))
  }
}
