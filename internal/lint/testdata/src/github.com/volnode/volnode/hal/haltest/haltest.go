package haltest
