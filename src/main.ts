import cluster from 'node:cluster'

const loadApplication = async () => (await import('./app.js')).createApp

// If PROCESSES is above 1, the first process supervises the others, which run this file too.
if (cluster.isWorker) {
  const { runServingProcess } = await import('./platform/processes/serve.js')
  await runServingProcess(loadApplication)
} else {
  const { runService } = await import('./platform/processes/service.js')
  await runService(loadApplication)
}
