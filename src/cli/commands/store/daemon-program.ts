import { spawn } from 'node:child_process'
import { type JsonObject, parseObject } from '../../../values/json.ts'
import { linesOf } from '../../../values/line-splitter.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { clean } from '../../io/text.ts'

/**
 * The daemon's program does what needs the database itself. It ends with this command.
 * @param settings of its environment, since URLs hold passwords @param take gets each line that it prints
 * @throws CliError with what the program said
 */
export const runDaemonProgram = async (
  ctx: CliContext,
  flags: readonly string[],
  settings: Readonly<Record<string, string | undefined>>,
  take: (line: JsonObject) => void,
): Promise<void> => {
  const { TAPCHIP_EPHEMERAL: _, ...env } = ctx.system.env
  const child = spawn(process.execPath, [ctx.system.daemonScript(), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    cwd: ctx.system.cwd,
    env: { ...env, ...settings },
  })
  let problem = ''
  child.stderr?.on('data', (chunk) => (problem += String(chunk)))
  const ended = new Promise<number | null>((done, failed) => child.on('error', failed).on('close', done))
  const texts = async function* () {
    for await (const chunk of child.stdout ?? []) yield String(chunk)
  }
  for await (const text of linesOf(texts())) {
    const line = parseObject(text)
    if (line) take(line)
  }
  const code = await ended
  if (code === 0) return
  const words = clean(problem.trim().replace(/^tapchipd: /, ''))
  throw new CliError(words || 'It was interrupted. Run it again: it continues.')
}
