package csidriver
