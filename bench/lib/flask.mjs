import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { keySet } from './daemon.mjs'
import { startServer } from './processes.mjs'

const folder = fileURLToPath(new URL('../peers', import.meta.url))
const env = {
  TAPCHIP_BENCH_META_READ_KEY: keySet.metaReadKey,
  TAPCHIP_BENCH_FILE_READ_KEY: keySet.fileReadKey,
  PYTHONDONTWRITEBYTECODE: '1',
}
const argsOf = (app) => ['--config', `${folder}/gunicorn-settings.py`, '--chdir', folder, `${app}:app`]

/** Why an app of bench/peers cannot be served, and what to install; undefined where it can. */
export function missingFlask(app) {
  const { status, stderr } = spawnSync('gunicorn', ['--check-config', ...argsOf(app)], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (status === 0) return undefined
  const why = stderr?.trim().split('\n').at(-1) ?? 'gunicorn is not installed'
  return `Flask under gunicorn does not run here: ${why}. On Debian, as root: apt-get install gunicorn python3-flask python3-pycryptodome`
}

/** Serves an app of bench/peers. @returns its worker's `pid`, and `port` */
export async function startFlask(core, app) {
  const { child, ready } = await startServer(core, argsOf(app), env, 'gunicorn')
  return { child, pid: ready.pid, port: Number(new URL(ready.url).port) }
}
