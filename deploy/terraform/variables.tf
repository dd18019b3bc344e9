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
  description = "Number of days during which deleted objects can be restored. Use the retention period of your database backups."
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
  description = "Namespace of the Kubernetes service account that workload identity maps to the Google service account."
  type        = string
  default     = "assay"
}
