import { bundled } from './bundle.mjs'
import { keySet } from './daemon.mjs'

/** @param place a folder for what is built @returns a maker of taps for the bench's key set */
export async function loadTapMaker(place) {
  const { TapMaker } = await bundled(place, 'lib/tap-maker')
  return new TapMaker(keySet)
}
