"""One opened site on the controller: state folder, credentials, management network namespace."""
