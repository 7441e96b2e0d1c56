/** The `Authorization` header of HTTP Basic (RFC 7617), in UTF-8. */
export function basic(username: string, password = ''): string {
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${username}:${password}`)))}`
}
