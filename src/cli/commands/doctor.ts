import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DaemonUnreachable } from '../client/errors.ts'
import { defineCommand } from '../command/define.ts'
import { configPath } from '../config-file.ts'
import { type CliContext, createContext } from '../context.ts'
import { exitCodes } from '../errors.ts'
import { clean, counted } from '../io/text.ts'
import { isRunning, readRecords } from '../local-daemon.ts'
import { dataDir } from '../system.ts'
import { checkDaemon } from './doctor/daemon.ts'
import { type Finding, fail, ok, warn } from './doctor/finding.ts'
import { checkReaders } from './doctor/readers.ts'
import { checkServices } from './doctor/service.ts'

const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check that everything works; each problem comes with a fix',
  examples: ['doctor', 'doctor --json | jq -r \'.[] | select(.status == "fail") | .fix\''],
  run: async (asked) => {
    const { ctx, running } = await atOnlyDaemon(asked)
    const origin = ctx === asked ? asked.config().origin : 'its record on this machine'
    const findings = (await Promise.all([checkMachine(ctx), checkDaemon(ctx, origin)])).flat()
    const [url] = running
    if (url !== undefined) {
      const which = running.length === 1 ? `${url} is the only daemon that runs` : `${running.join(', ')} run`
      const detail = `other commands use ${asked.config().url}, where none answers: ${which} here`
      findings.push(warn('address', detail, `export TAPCHIP_URL=${url}`))
    }
    if (ctx !== asked) ctx.close()
    const colors = { ok: 'green', warn: 'yellow', fail: 'red' } as const
    if (ctx.io.json) await ctx.io.list(findings, {}, '')
    else {
      for (const { check, status, detail, fix } of findings) {
        const text = `${check}: ${detail.replace(/\.$/, '')}${fix === null ? '' : `. Fix: ${fix}`}`
        await ctx.io.marked(colors[status], status.padEnd(4), `  ${clean(text)}`)
      }
    }
    // The summary comes last, whichever stream is shown first.
    await ctx.io.flush()
    const failed = findings.filter(({ status }) => status === 'fail').length
    const warned = findings.filter(({ status }) => status === 'warn').length
    if (failed > 0) ctx.io.note(`${counted(failed, 'check')} failed.`)
    else ctx.io.note(warned > 0 ? 'No errors. You may want to look at the warnings.' : 'Everything works.')
    return failed > 0 ? exitCodes.failed : exitCodes.done
  },
})

export const verb = doctor

/**
 * Where nothing says which daemon, and none is at the default address: the only one that `daemon start` started.
 * @returns the addresses of all that run instead
 */
const atOnlyDaemon = async (ctx: CliContext): Promise<{ ctx: CliContext; running: string[] }> => {
  const running = readRecords(ctx.system)
    .filter(isRunning)
    .map(({ url }) => url)
  if (ctx.config().origin !== 'default' || running.length === 0) return { ctx, running: [] }
  const isThere = await (await ctx.client()).probe('/healthz').then(
    () => true,
    (error) => !(error instanceof DaemonUnreachable),
  )
  if (isThere) return { ctx, running: [] }
  const [url, ...others] = running
  return { ctx: others.length > 0 ? ctx : createContext(ctx.system, { ...ctx.flags, url }), running }
}

const minNode = [20, 19] as const

const checkNode = (): Finding => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const good = major > minNode[0] || (major === minNode[0] && minor >= minNode[1])
  return good
    ? ok('node', process.version)
    : fail('node', `${process.version} is too old`, `install Node ${minNode.join('.')} or later`)
}

/** A missing file is no problem. */
const checkMode = (check: string, path: string): Finding[] => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return []
  const mode = (stat.mode & 0o777).toString(8)
  return (stat.mode & 0o077) === 0
    ? [ok(check, `${path} (${mode})`)]
    : [
        fail(
          check,
          `${path} can be read by others (${mode})`,
          `chmod ${stat.isDirectory() ? '700' : '600'} ${path}`,
        ),
      ]
}

export const checkMachine = async (ctx: CliContext): Promise<Finding[]> => {
  // Prefer the directory of the daemon that answers: the default one may be another's.
  const socket = /^unix:(.+)$/.exec(ctx.config().adminUrl())?.[1]
  const dir = socket ? dirname(socket) : dataDir(ctx.system)
  return [
    checkNode(),
    ...checkMode('context file', configPath(ctx.system)),
    ...checkMode('data directory', dir),
    ...checkMode('admin token file', `${dir}/admin.token`),
    ...checkMode('data key file', `${dir}/data.key`),
    ...(await checkServices(ctx)),
    ...(await checkReaders(ctx)),
  ]
}

/** All but what reads the whole database, which holds taps up. */
export const checkQuickly = async (ctx: CliContext): Promise<Finding[]> =>
  (await Promise.all([checkMachine(ctx), checkDaemon(ctx, ctx.config().origin, true)])).flat()
