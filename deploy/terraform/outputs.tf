output "storage_url" {
  description = "Value of STORAGE_URL in deploy/kubernetes."
  value       = "gs://${google_storage_bucket.files.name}"
}

output "service_account" {
  description = "Value of the annotation iam.gke.io/gcp-service-account in deploy/kubernetes/service-account.yaml."
  value       = google_service_account.assay.email
}

output "secrets" {
  description = "Names of the secrets for the Kubernetes Secret `assay`."
  value       = [for secret in google_secret_manager_secret.assay : secret.secret_id]
}

output "cluster" {
  description = "Name of the cluster for `gcloud container clusters get-credentials`."
  value       = google_container_cluster.assay.name
}
