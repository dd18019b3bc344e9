variable "project" {
  description = "The project's id."
  type        = string
}

variable "region" {
  description = "Where everything is."
  type        = string
  default     = "europe-west1"
}

variable "bucket" {
  description = "The bucket's name, unique in the world."
  type        = string
}

variable "soft_delete_days" {
  description = "How long the bucket keeps what was deleted: as long as you keep backups of the database."
  type        = number
  default     = 30

  validation {
    condition     = var.soft_delete_days >= 7 && var.soft_delete_days <= 90
    error_message = "Google keeps deleted objects for 7 to 90 days."
  }
}

variable "database_tier" {
  description = "The machine of Cloud SQL."
  type        = string
  default     = "db-custom-2-7680"
}

variable "namespace" {
  description = "Of the service account in Kubernetes that stands for the one of Google."
  type        = string
  default     = "assay"
}
