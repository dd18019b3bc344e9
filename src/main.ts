import { servingProcessArgument } from './platform/processes/process-number.js'

const loadApplication = async () => (await import('./app.js')).createApp

// If PROCESSES is above 1, the first process supervises the serving processes, which run this file with `servingProcessArgument`.
// `cluster.isWorker` cannot identify them, because process managers such as PM2 also run programs as cluster workers.
if (process.argv[2] === servingProcessArgument) {
  const { runServingProcess } = await import('./platform/processes/serve.js')
  await runServingProcess(loadApplication)
} else {
  const { runService } = await import('./platform/processes/service.js')
  await runService(loadApplication)
}
