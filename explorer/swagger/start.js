// Swagger UI's own script stands before this one, in the page of src/site/docs.ts.
window.SwaggerUIBundle({ url: `${document.body.dataset.root}/openapi.json`, dom_id: '#docs', deepLinking: true })
