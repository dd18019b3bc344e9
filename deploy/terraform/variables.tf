variable "project" {
  description = "Id of the Google Cloud project."
  type        = string
}

variable "region" {
  description = "Region of all resources."
  type        = string
  default     = "europe-west1"
}

variable "bucket" {
  description = "Globally unique name of the bucket."
  type        = string
}

variable "soft_delete_days" {
  description = "Days for which deleted objects stay recoverable. Use the retention of your database backups."
  type        = number
  default     = 30

  validation {
    condition     = var.soft_delete_days >= 7 && var.soft_delete_days <= 90
    error_message = "Google keeps deleted objects for 7 to 90 days."
  }
}

variable "database_tier" {
  description = "Machine type of Cloud SQL."
  type        = string
  default     = "db-custom-2-7680"
}

variable "namespace" {
  description = "Kubernetes namespace of the service account that workload identity maps to Google's."
  type        = string
  default     = "assay"
}
