import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { configPath } from '../../config-file.ts'
import type { CliContext } from '../../context.ts'
import { recordAt } from '../../daemon-record.ts'
import { dataDir } from '../../surroundings.ts'
import { type Finding, fail, ok } from './finding.ts'
import { checkReaders } from './readers.ts'

const leastNode = [20, 19] as const

const checkNode = (): Finding => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const good = major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1])
  return good
    ? ok('node', process.version)
    : fail('node', `${process.version} is too old`, `install Node ${leastNode.join('.')} or later`)
}

/** Others must not read it. A file that is not there is no fault. */
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

/** What can be seen without the daemon. */
export const checkMachine = async (ctx: CliContext): Promise<Finding[]> => {
  // That of the daemon that answers, where its socket is known: the usual one may be another's.
  const socket = /^unix:(.+)$/.exec(ctx.config().adminUrl())?.[1]
  const dir = recordAt(ctx.at, ctx.config().url)?.dataDir ?? (socket ? dirname(socket) : dataDir(ctx.at))
  return [
    checkNode(),
    ...checkMode('context file', configPath(ctx.at)),
    ...checkMode('data directory', dir),
    ...checkMode('admin token file', `${dir}/admin.token`),
    ...checkMode('data key file', `${dir}/data.key`),
    ...(await checkReaders(ctx)),
  ]
}
