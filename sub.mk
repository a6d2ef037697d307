x:
	@echo sub; env | grep FLAGS
