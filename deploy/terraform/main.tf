# Google Cloud resources for Assay: a bucket, a service account, PostgreSQL, secrets and a cluster (docs/deploy.md). Not applied in CI.

resource "google_project_service" "needed" {
  for_each = toset([
    "compute.googleapis.com",
    "container.googleapis.com",
    "iamcredentials.googleapis.com",
    "secretmanager.googleapis.com",
    "servicenetworking.googleapis.com",
    "sqladmin.googleapis.com",
    "storage.googleapis.com",
  ])
  service            = each.key
  disable_on_destroy = false
}

# -- bucket

resource "google_storage_bucket" "files" {
  name                        = var.bucket
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  # Deleted blobs can be restored as long as database backups refer to them.
  soft_delete_policy {
    retention_duration_seconds = var.soft_delete_days * 24 * 60 * 60
  }

  lifecycle {
    prevent_destroy = true
  }
}

# -- service account

resource "google_service_account" "assay" {
  account_id   = "assay"
  display_name = "Assay"
}

resource "google_storage_bucket_iam_member" "objects" {
  bucket = google_storage_bucket.files.name
  role   = "roles/storage.objectUser"
  member = google_service_account.assay.member
}

# The account signs download URLs through IAM.
resource "google_service_account_iam_member" "signs_for_itself" {
  service_account_id = google_service_account.assay.name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = google_service_account.assay.member
}

resource "google_service_account_iam_member" "workload_identity" {
  service_account_id = google_service_account.assay.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "serviceAccount:${var.project}.svc.id.goog[${var.namespace}/assay]"
  depends_on         = [google_container_cluster.assay]
}

# -- PostgreSQL on a private address

resource "google_compute_network" "assay" {
  name                    = "assay"
  auto_create_subnetworks = false
  depends_on              = [google_project_service.needed]
}

resource "google_compute_subnetwork" "assay" {
  name                     = "assay"
  network                  = google_compute_network.assay.id
  region                   = var.region
  ip_cidr_range            = "10.10.0.0/20"
  private_ip_google_access = true
}

resource "google_compute_global_address" "services" {
  name          = "assay-services"
  network       = google_compute_network.assay.id
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 16
}

resource "google_service_networking_connection" "services" {
  network                 = google_compute_network.assay.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.services.name]
}

resource "google_sql_database_instance" "assay" {
  name                = "assay"
  region              = var.region
  database_version    = "POSTGRES_17"
  deletion_protection = true
  depends_on          = [google_service_networking_connection.services]

  settings {
    tier              = var.database_tier
    edition           = "ENTERPRISE"
    availability_type = "REGIONAL"
    disk_autoresize   = true

    ip_configuration {
      ipv4_enabled    = false
      private_network = google_compute_network.assay.id
      ssl_mode        = "ENCRYPTED_ONLY"
    }

    backup_configuration {
      enabled                        = true
      point_in_time_recovery_enabled = true
    }

    # Eight replicas with 30 connections each, plus operator commands.
    database_flags {
      name  = "max_connections"
      value = "300"
    }
  }
}

resource "google_sql_database" "assay" {
  name     = "assay"
  instance = google_sql_database_instance.assay.name
}

resource "random_password" "database" {
  length  = 40
  special = false
}

resource "google_sql_user" "assay" {
  name     = "assay"
  instance = google_sql_database_instance.assay.name
  password = random_password.database.result
}

# -- secrets. Terraform's state contains them too, so restrict access to the state.

resource "random_bytes" "master_key" {
  length = 32

  lifecycle {
    prevent_destroy = true
  }
}

locals {
  secrets = {
    master-key = random_bytes.master_key.base64
    # Cloud SQL uses its own certificate authority. The connection is encrypted and stays in this network.
    database-url = "postgresql://assay:${random_password.database.result}@${google_sql_database_instance.assay.private_ip_address}:5432/${google_sql_database.assay.name}?sslmode=no-verify"
  }
}

resource "google_secret_manager_secret" "assay" {
  for_each  = toset(["master-key", "database-url"])
  secret_id = "assay-${each.key}"

  replication {
    auto {}
  }

  depends_on = [google_project_service.needed]
}

resource "google_secret_manager_secret_version" "assay" {
  for_each    = google_secret_manager_secret.assay
  secret      = each.value.id
  secret_data = local.secrets[each.key]
}

# -- cluster

resource "google_container_cluster" "assay" {
  name                = "assay"
  location            = var.region
  enable_autopilot    = true
  network             = google_compute_network.assay.id
  subnetwork          = google_compute_subnetwork.assay.id
  deletion_protection = true

  private_cluster_config {
    enable_private_nodes = true
  }

  ip_allocation_policy {}

  release_channel {
    channel = "REGULAR"
  }
}

# Private nodes download images through this gateway, and clamd downloads its signatures.
resource "google_compute_router" "assay" {
  name    = "assay"
  network = google_compute_network.assay.id
  region  = var.region
}

resource "google_compute_router_nat" "assay" {
  name                               = "assay"
  router                             = google_compute_router.assay.name
  region                             = var.region
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}
