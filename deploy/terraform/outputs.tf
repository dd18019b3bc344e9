output "storage_url" {
  description = "STORAGE_URL of deploy/kubernetes."
  value       = "gs://${google_storage_bucket.files.name}"
}

output "service_account" {
  description = "For the annotation iam.gke.io/gcp-service-account of deploy/kubernetes/service-account.yaml."
  value       = google_service_account.assay.email
}

output "secrets" {
  description = "What the Secret `assay` of Kubernetes is made of."
  value       = [for secret in google_secret_manager_secret.assay : secret.secret_id]
}

output "cluster" {
  description = "For gcloud container clusters get-credentials."
  value       = google_container_cluster.assay.name
}
