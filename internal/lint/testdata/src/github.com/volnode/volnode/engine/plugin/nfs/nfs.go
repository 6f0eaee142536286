package nfs
