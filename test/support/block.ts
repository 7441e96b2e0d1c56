/** Blocks the event loop, as long work does. */
export function block(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
