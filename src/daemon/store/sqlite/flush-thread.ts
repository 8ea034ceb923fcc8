import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

// Flushes a file while it is being written. A single flush at the end would write a gigabyte at once and delay the commits
// of taps. Its message says that the file is whole.

const betweenMs = 10

const file = openSync(workerData as string, 'r+')
const flush = () => {
  fdatasyncSync(file)
  timer = setTimeout(flush, betweenMs)
}
let timer = setTimeout(flush, betweenMs)
parentPort?.once('message', () => {
  clearTimeout(timer)
  closeSync(file)
})
