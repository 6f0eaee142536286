package v1

type Pod struct{}
