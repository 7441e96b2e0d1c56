import { Refine, useTable } from '@refinedev/core'
import { createDataProvider, createLiveProvider } from 'typeorm-resources/refine'

export function App() {
  return (
    <Refine
      dataProvider={createDataProvider('/api')}
      liveProvider={createLiveProvider('/api')}
      options={{ liveMode: 'auto', disableTelemetry: true }}
    >
      <Cities />
    </Refine>
  )
}

function Cities() {
  const { result, currentPage, setCurrentPage, pageCount } = useTable({
    resource: 'city',
    filters: { initial: [{ field: 'country.region', operator: 'eq', value: 'Europe' }] },
    sorters: { initial: [{ field: 'population', order: 'desc' }] },
    pagination: { pageSize: 3 },
    syncWithLocation: false,
  })
  return (
    <>
      <ol>
        {result.data.map(({ id, name }) => (
          <li key={id}>{name}</li>
        ))}
      </ol>
      <button type="button" disabled={currentPage >= pageCount} onClick={() => setCurrentPage(currentPage + 1)}>
        More
      </button>
    </>
  )
}
