import { useEffect } from 'react'
import { useDataProvider, useListContext } from 'react-admin'
import type { DataProvider, LiveMethods } from 'typeorm-resources/react-admin'

/** Reads the list around it again after each change of its resource. */
export function LiveUpdates() {
  const { resource, refetch } = useListContext()
  // Its methods are new functions at each access, so an effect must not depend on them.
  const dataProvider = useDataProvider<DataProvider & LiveMethods>()
  useEffect(() => {
    const topic = `resource/${resource}`
    const update = () => void refetch()
    dataProvider.subscribe(topic, update)
    return () => void dataProvider.unsubscribe(topic, update)
  }, [resource, refetch, dataProvider])
  return null
}
