"""Tables of a report as CSV files and as one XLSX workbook."""
