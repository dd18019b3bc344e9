import { createHash } from 'node:crypto'
import { toCanonicalJson } from '@assay/proofs'
import type { Attempt } from '../../access/admission.js'
import type { Call } from '../../access/call.js'
import { FileId } from '../../api/graphql/arguments.js'
import { Args, FieldResolver, ID, Mutation, Query, Resolver, Root } from '../../api/graphql/decorators.js'
import { loadRelation } from '../../api/graphql/relation-loader.js'
import { CurrentAttempt, CurrentCall, Requires } from '../../api/graphql/requires.js'
import type { ValidationReport } from '../../inspection/report.js'
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
  constructor(
    private readonly fileService: FileService,
    private readonly uploadService: UploadService,
    private readonly contextService: FileContextService,
  ) {}

  @Requires('metadata')
  @Query(() => FilePage, "Lists the tenant's files, newest first by default.")
  files(@CurrentAttempt() attempt: Attempt, @Args(() => FilesArgs) args: FilesArgs) {
    return this.fileService.list(attempt, args)
  }

  @Requires('metadata')
  @Query(() => FileConnection, "Returns the tenant's files as a cursor connection, newest first by default.")
  filesConnection(@CurrentAttempt() attempt: Attempt, @Args(() => FilesConnectionArgs) args: FilesConnectionArgs) {
    return this.fileService.getConnection(attempt, args)
  }

  @Requires('metadata')
  @Query(() => File, 'Returns the metadata of a file. Returns the error `not_found` if the ID is unknown.')
  file(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.fileService.get(attempt, fileId)
  }

  @Requires('metadata')
  @Query(
    () => ValidationReportType,
    'Returns the latest validation report for a file. Returns the error `not_found` if the ID is unknown.',
  )
  fileValidation(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.fileService.getValidationReport(attempt, fileId)
  }

  @Requires('metadata')
  @Query(
    () => ValidationReportPage,
    'Lists the validation reports for a file, newest first: one for the upload, and one for each later scan.',
  )
  fileValidations(
    @CurrentAttempt() attempt: Attempt,
    @Args(() => FileValidationsArgs) { fileId, ...range }: FileValidationsArgs,
  ) {
    return this.fileService.listReports(attempt, fileId, range)
  }

  @Requires('upload')
  @Mutation(
    () => File,
    "Validates a file against a context's rules and stores it. If a check fails, the error code states the reason, such as `virus_detected`.",
  )
  uploadFile(@CurrentAttempt() attempt: Attempt, @Args(() => UploadFileArgs) input: UploadFileArgs) {
    return this.uploadService.upload(attempt, input)
  }

  @Requires('upload', { dryRun: true })
  @Mutation(() => ValidationReportType, 'Validates a file without storing it. Returns the same validation report as an upload.')
  validateFile(@CurrentAttempt() attempt: Attempt, @Args(() => ValidateFileArgs) input: ValidateFileArgs) {
    return this.uploadService.validate(attempt, input)
  }

  @Requires('download', {}, ({ context }) => (context.isHead ? { access: 'download', isUnlogged: true } : undefined))
  @Mutation(
    () => DownloadUrl,
    'Creates a short-lived download URL. With a local store, the URL also stops working if the credential that created it is disabled or revoked. Returns the error `quarantined` for a quarantined file.',
  )
  createDownloadUrl(@CurrentAttempt() attempt: Attempt, @Args(() => DownloadUrlArgs) { fileId, once }: DownloadUrlArgs) {
    return this.fileService.createDownloadUrl(attempt, fileId, once)
  }

  @Requires('delete')
  @Mutation(
    () => DeletedFile,
    "Deletes a file, or moves it to its context's trash. Returns the error `on_hold` if the file is on hold.",
  )
  deleteFile(@CurrentAttempt() attempt: Attempt, @FileId() fileId: string) {
    return this.fileService.delete(attempt, fileId)
  }

  @Requires('delete')
  @Mutation(() => [FileDeletion], 'Deletes up to 100 files. Each file is processed independently of the others.')
  deleteFiles(@CurrentAttempt() attempt: Attempt, @Args(() => DeleteFilesArgs) { fileIds }: DeleteFilesArgs) {
    return this.fileService.deleteMany(attempt, fileIds)
  }

  @Requires('any')
  @FieldResolver(() => FileContext, 'Context that contains the file.', { nullable: true })
  context(@CurrentCall() call: Call, @Root() file: File) {
    return loadRelation(call, 'File.context', file.contextId, (ids) => this.contextService.getByIds(file.tenantId, ids))
  }

  @Requires('metadata')
  @FieldResolver(() => ValidationReportType, 'Latest validation report for the file.', { nullable: true })
  validation(@CurrentCall() call: Call, @Root() file: File) {
    return loadRelation(call, 'File.validation', file.fileId, (ids) => this.fileService.getValidationReports(file.tenantId, ids))
  }

  @Requires('metadata')
  @FieldResolver(() => Uploader, 'User or API key that uploaded the file. Null if the uploader was deleted.', { nullable: true })
  uploader(@CurrentCall() call: Call, @Root() file: File) {
    return loadRelation(call, 'File.uploader', file.uploadedBy, (ids) => this.fileService.getUploadersByIds(file.tenantId, ids))
  }
}

@Resolver(() => ValidationReportType)
export class ValidationReportResolver {
  @FieldResolver(() => ID, 'Unique identifier of the report, derived from its content. Client caches use it as the key.')
  id(@Root() report: ValidationReport): string {
    return createHash('sha256').update(toCanonicalJson(report)).digest('hex')
  }
}
