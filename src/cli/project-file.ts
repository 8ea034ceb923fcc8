import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readRegular } from '../values/files.ts'
import { isJsonObject } from '../values/json.ts'
import { UsageError } from './errors.ts'
import { fileProblem } from './file-problem.ts'
import type { System } from './system.ts'

/** What a project directory says about the commands in it. */
export interface ProjectFile {
  readonly path: string
  /** One of the user's own contexts: a file of somebody else can only choose among them. */
  readonly context: string | undefined
  readonly team: string | undefined
}

export const projectFileName = '.tapchip.json'

/** The nearest one, from the working directory up to the home or the root. @throws UsageError */
export const findProjectFile = ({ cwd, home }: Pick<System, 'cwd' | 'home'>): ProjectFile | undefined => {
  for (let dir = cwd; ; dir = dirname(dir)) {
    const path = join(dir, projectFileName)
    if (existsSync(path)) return read(path)
    if (dir === home || dir === dirname(dir)) return undefined
  }
}

const read = (path: string): ProjectFile => {
  let value: unknown
  try {
    value = JSON.parse(readRegular(path))
  } catch (cause) {
    if (cause instanceof SyntaxError) throw new UsageError(`${path} is not JSON.`, example)
    throw fileProblem(cause, { path, verb: 'read', advice: 'Check who owns it: ls -l' }) ?? cause
  }
  if (!isJsonObject(value)) throw new UsageError(`${path} must contain one JSON object.`, example)
  const { context, team, ...others } = value
  const unknown = Object.keys(others)
  if (unknown.length > 0)
    throw new UsageError(
      `${path} must not contain ${unknown.map((name) => `"${name}"`).join(', ')}: it names a context and a team, and nothing else.`,
      'Addresses and keys belong in the context: tapchip context create, tapchip login',
    )
  const name = (member: string, text: unknown): string | undefined => {
    if (text === undefined || (typeof text === 'string' && text.trim() !== '')) return text
    throw new UsageError(`${path}: ${member} must be a name.`, example)
  }
  return { path, context: name('context', context), team: name('team', team) }
}

const example = 'It looks like { "context": "prod", "team": "Acme" }'
