import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { beforeAll, describe, expect, test } from 'vitest'
import { createProgram } from '../src/cli/program.ts'
import { loadAll } from './support/command-tree.ts'

const root = resolve(import.meta.dirname, '..')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(resolve(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const textOf = (page: string) => readFileSync(resolve(root, page), 'utf8')

let program: Command
beforeAll(async () => {
  program = createProgram({
    env: {},
    home: '/',
    cwd: '/',
    now: () => new Date(0),
    interrupts: { listen: () => () => undefined },
    atExit: () => () => undefined,
    daemonScript: () => '',
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
  })
  await loadAll(program)
})

/** Command lines in code spans and code blocks. */
const commandsIn = (text: string): string[] =>
  [...text.matchAll(/(?:^|[`$|] ?|&& )tapchip ([a-z-]+[^`\n|]*)/gm)].map(([, line = '']) =>
    line.replace(/ #.*$/, ''),
  )

/** Undefined: the command is fine. */
const problemOf = (line: string): string | undefined => {
  const words = line.split(/\s+/).filter((word) => word !== '' && word !== '…')
  let command = program
  for (const word of words) {
    const next = command.commands.find((other) => other.name() === word)
    if (!next) {
      if (command.commands.length > 0 && command.name() !== 'help') return `no command ${word}`
      break
    }
    command = next
  }
  const known = new Set(
    [command, program].flatMap(({ options }) => options.flatMap(({ long, short }) => [long, short])),
  )
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
  const unknown = own
    .flatMap((word) => /^\[?(--?[a-z][a-z-]*)/.exec(word)?.[1] ?? [])
    .find((flag) => !known.has(flag) && flag !== '--help')
  return unknown && `no flag ${unknown}`
}

/** `src/{cli,nfc}/` is two paths. */
const expandBraces = (path: string): string[] => {
  const [, before = '', choices, after = ''] = /^(.*?)\{([^{}]*)\}(.*)$/.exec(path) ?? []
  if (choices === undefined) return [path]
  return choices.split(',').flatMap((choice) => expandBraces(before + choice + after))
}

/** Paths in code spans: what has a folder and ends as a file or a folder does, and any file of ours by its name. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, span = '']) => span)
    .filter((span) => /^[\w.{][\w.*{},<>/-]*$/.test(span))
    .filter(
      (span) => /\.(?:ts|mjs|cjs|md|json|sol|svg|ya?ml)$/.test(span) || /^[^/]+\/.*\/$|^\w+\/$/.test(span),
    )
    .flatMap(expandBraces)

/** `*` and `<name>` stand for a part of a name, a slash at the end for anything below. */
const patternOf = (path: string): RegExp => {
  const body = path
    .replace(/<\w+>/g, '*')
    .replace(/[.+?^$()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '[^/]*')
  return new RegExp(`(?:^|/)${body}${path.endsWith('/') ? '' : '$'}`)
}

describe('the documents', () => {
  test('name only commands and flags that exist', () => {
    const lines = pages.flatMap((page) => commandsIn(textOf(page)).map((line) => ({ page, line })))
    expect(lines.length).toBeGreaterThan(100)
    const problems = lines.flatMap(({ page, line }) => {
      const problem = problemOf(line)
      return problem === undefined ? [] : [`${page}: tapchip ${line}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  test('link only to files that exist', () => {
    const broken = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(resolve(root, dirname(page), target)))
        .map((target) => `${page}: ${target}`),
    )
    expect(broken).toEqual([])
  })

  test.each(['CONTRIBUTING.md', 'docs/decisions.md', 'docs/performance.md', 'tests/support/README.md'])(
    '%s names only files and folders that exist',
    (page) => {
      const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
        cwd: root,
        encoding: 'utf8',
      })
      const files = listed.split('\n').filter((file) => existsSync(resolve(root, file)))
      const missing = pathsIn(textOf(page)).filter(
        (path) => !files.some((file) => patternOf(path).test(file)),
      )
      expect(missing).toEqual([])
    },
  )
})
