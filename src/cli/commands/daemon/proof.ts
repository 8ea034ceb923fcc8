import { existsSync } from 'node:fs'
import http from 'node:http'
import { holdersOf, holdsDataDir } from '../../../values/data-dir-holder.ts'
import { type DaemonRecord, isRunning, isSuspended, processStart } from '../../daemon-record.ts'

type Process = Pick<DaemonRecord, 'pid' | 'processStart'>

/** The process that holds a data directory, whoever started it. Works on Linux only. */
export const holderOf = (dataDir: string): Process | undefined => {
  const [pid] = holdersOf(dataDir)
  const start = pid === undefined ? undefined : processStart(pid)
  return pid === undefined || start === undefined ? undefined : { pid, processStart: start }
}

/** Why the process of a record may not be its daemon; undefined if it is proved to be. */
export const doubtAbout = async (record: DaemonRecord): Promise<string | undefined> => {
  const instance = isSuspended(record.pid) ? undefined : await instanceAt(record)
  if (!isRunning(record)) return `process ${record.pid} is now a different one`
  if (instance !== undefined && record.instance !== '' && instance !== record.instance)
    return `another daemon answers at ${record.url}`
  const isHeld = holdsDataDir(record.pid, record.dataDir)
  if (isHeld === false) return `process ${record.pid} does not hold ${record.dataDir}`
  // If the system does not tell, the daemon itself must.
  return isHeld || instance !== undefined ? undefined : `nothing answers at ${record.url}`
}

const timeoutMs = 2000

/**
 * The instance that answers: on the socket in its data directory, which nobody else can have, or else at its address.
 */
export const instanceAt = async ({
  url,
  dataDir,
}: Pick<DaemonRecord, 'url' | 'dataDir'>): Promise<string | undefined> => {
  const socketPath = `${dataDir}/admin.sock`
  const bySocket = existsSync(socketPath) ? await askHealth({ socketPath, path: '/healthz' }) : undefined
  return bySocket ?? instanceAtAddress(url)
}

/** The instance that answers at an address of this machine, whoever started it. */
export const instanceAtAddress = async (url: string): Promise<string | undefined> => {
  const { hostname, port } = new URL(url)
  return askHealth({ hostname: hostname.replace(/^\[|\]$/g, ''), port, path: '/healthz' })
}

const askHealth = (where: http.RequestOptions): Promise<string | undefined> =>
  new Promise((resolve) => {
    const request = http.get({ ...where, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        if (text.length > 10_000) request.destroy()
      })
      answer.on('end', () => resolve(/"instance":"([^"]+)"/.exec(text)?.[1])).on('error', () => undefined)
    })
    // One deadline for the whole exchange, so that a slow writer cannot hold us.
    const timer = setTimeout(() => request.destroy(), timeoutMs)
    request.on('error', () => undefined)
    request.on('close', () => {
      clearTimeout(timer)
      resolve(undefined)
    })
  })
