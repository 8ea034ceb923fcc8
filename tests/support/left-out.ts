import type { TestProject } from 'vitest/node'
import { describeMissing, type MissingTool } from '../../scripts/test-tools.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** Tools that this machine lacks, with the tests that the configuration leaves out because of it. */
    leftOut: MissingTool[]
  }
}

/** At the end, where it is read: nobody is to take a part of the tests for the whole. */
export default function setup(project: TestProject) {
  const missing = project.config.provide.leftOut ?? []
  return () => {
    if (missing.length > 0) process.stderr.write(`\n${describeMissing(missing)}\n`)
  }
}
